package transform

// shapeVerbs change the shape of a table.
var shapeVerbs = []Verb{}
