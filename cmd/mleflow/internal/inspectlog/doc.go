// Package inspectlog writes the attempts of a run as evaluation logs of Inspect
// AI, one log an agent, which inspect view and inspect_ai.log read.
//
// A log is a zip file of JSON documents: the header, a file for each sample,
// and summaries of all samples. A sample is an attempt at a competition, and
// its epoch is the place of the attempt's seed. The same attempts give the same
// bytes: identifiers are digests, and the files of the zip have a fixed time.
package inspectlog
