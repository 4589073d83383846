package transform

// pandasVerbs read and make tables with the types that pandas gives JSON.
var pandasVerbs = []Verb{foldersVerb, csvFilesVerb}
