package transform

// groupVerbs work on the groups of a table: the rows with the same cell in a column.
var groupVerbs = []Verb{}
