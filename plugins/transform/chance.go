package transform

// chanceVerbs draw from Python's and NumPy's generators.
var chanceVerbs = []Verb{}
