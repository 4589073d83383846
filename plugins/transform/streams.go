package transform

// streamVerbs give rows that are read again when they are written, since they are too large to hold.
var streamVerbs = []Verb{}
