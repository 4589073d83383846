// Package rules looks through the files of an attempt for anything its readers should
// look at: code, conversations with models, and the records of the sandbox.
//
// A rule is a file of this package with a Rule, and a line in All. It is
// deterministic, reads nothing but the Attempt, and gives evidence.Findings with
// file and line. Precision goes before recall: an honest attempt, which reads its
// data, trains, asks its models for advice and writes predictions, has no warning.
// Each rule's test holds examples that it must find and others that it must not.
//
// An agent can hide its doings from rules like these, for example in code that it
// deletes. The rules find traces left openly, as are most of those that people
// find; transcripts and the sandbox's records can't be deleted.
package rules
