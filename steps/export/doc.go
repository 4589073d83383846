// Package export is the step kind "export": results and competitions in the formats of
// other tools, by the code of the commands mleflow export.
//
// What is made of results alone is a result. Harbor's tasks have answers, so their output
// is private. The same inputs give the same bytes, so nothing of a run is in them: neither
// its id nor a time.
package export
