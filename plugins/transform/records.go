package transform

// recordVerbs work on the records of JSON files.
var recordVerbs = []Verb{}
