package transform

// fileVerbs read something of many files: names, sizes, masks.
var fileVerbs = []Verb{}
