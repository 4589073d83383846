package transform

import "slices"

// registry lists every verb; each is declared in the file that implements it.
var registry = slices.Concat(basicVerbs, groupVerbs, recordVerbs, chanceVerbs, fileVerbs, pandasVerbs, streamVerbs, shapeVerbs)

var basicVerbs = []Verb{
	csvVerb, jsonVerb, jsonLinesVerb, linesVerb, filesVerb, npyVerb, tfrecordTextsVerb, pixelsVerb,
	namesOfVerb, selectFieldsVerb, dropFieldsVerb, columnVerb,
	trainTestSplitVerb, sampleVerb,
	takeVerb, headVerb, tailVerb, filterVerb, whereInVerb, whereNotInVerb, isInVerb, sortVerb, sortByVerb, uniqueVerb, reverseVerb, concatVerb, takeGroupsVerb, firstFitVerb,
	tableVerb, withVerb, selectVerb, dropVerb, renameVerb, fillVerb, fillMissingVerb, joinVerb, crossVerb, oneHotVerb, mapValuesVerb,
	sequenceVerb, numberGroupsVerb, countWithinVerb, randomIntegersVerb,
	textVerb, integerVerb, realVerb, lowerVerb, upperVerb, stripVerb, beforeVerb, afterVerb, partVerb, substrVerb, replaceVerb, containsTextVerb,
	startsWithVerb, endsWithVerb, padVerb, basenameVerb, stemVerb, folderVerb, listHoldsVerb,
	countVerb, meanVerb, sumVerb, minimumVerb, maximumVerb, listVerb,
}
