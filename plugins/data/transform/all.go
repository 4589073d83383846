package transform

// registry lists every verb; each is declared in the file that implements it.
var registry = []Verb{
	// of files
	csvVerb, csvFilesVerb, jsonVerb, jsonLinesVerb, pandasJSONLinesVerb, linesVerb, streamLinesVerb, bsonVerb,
	parquetVerb, npyVerb, tfrecordTextsVerb, filesVerb, foldersVerb, archiveFilesVerb, jsonNamesVerb, imageSizeVerb,
	npySizeVerb, runLengthsVerb, pngRunLengthsVerb, pixelsVerb, excelVerb,
	// of rows
	takeVerb, omitVerb, headVerb, tailVerb, filterVerb, whereInVerb, whereNotInVerb, isInVerb, sortVerb, sortByVerb,
	sortDescendingVerb, dropDuplicatesVerb, valueCountsVerb, meltVerb, pivotVerb, uniqueVerb, reverseVerb, concatVerb, repeatVerb, takeGroupsVerb, firstFitVerb, countVerb, listVerb, columnVerb,
	// of chance
	trainTestSplitVerb, trainTestSplitEachVerb, kFoldVerb, timeSeriesSplitVerb, sampleVerb, sampleEachVerb, pythonShuffleVerb, pythonSampleVerb,
	pythonChoiceVerb, drawClozeVerb, randomIntegersVerb, randomUniformVerb,
	// of tables and their columns
	tableVerb, withVerb, selectVerb, dropVerb, renameVerb, fillVerb, fillMissingVerb, isMissingVerb, joinVerb,
	crossVerb, oneHotVerb, multiHotVerb, mapValuesVerb, positionsVerb, explodeWordsVerb, idxmaxVerb, groupFirstVerb,
	groupJoinVerb, groupMeanVerb, groupSizeVerb, numberGroupsVerb, countWithinVerb,
	// of numbers
	sequenceVerb, linspaceVerb, roundVerb, meanVerb, sumVerb, cumulativeSumVerb, minimumVerb, maximumVerb, textVerb,
	integerVerb, realVerb, dateOrdinalVerb, datePartVerb, absVerb, logVerb, shiftVerb, cutVerb,
	// of strings
	charactersVerb, extractVerb, matchesVerb, lowerVerb, upperVerb, stripVerb, beforeVerb, afterVerb, partVerb, substrVerb, replaceVerb, containsTextVerb,
	startsWithVerb, endsWithVerb, padVerb, basenameVerb, stemVerb, folderVerb, listHoldsVerb, removeWordVerb,
	// of records
	namesOfVerb, selectFieldsVerb, dropFieldsVerb, objectVerb, withFieldsVerb, pandasRecordsVerb, jsonPointersVerb,
	explodeVerb, jsonJoinVerb,
}
