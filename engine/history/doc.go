// Package history keeps the history of runs in a folder:
//
//	runs/<run>/run.json          what was run, where and by which version
//	runs/<run>/plan.json         the plan it followed
//	runs/<run>/pipeline/         the text of the pipeline
//	runs/<run>/events.jsonl      the journal: one event a line
//	runs/<run>/logs/             what steps printed, one file a try
//	runs/<run>/requests/         what people ask of it while it lives, a file each
//	runs/<run>/lock              locked while the run's process lives
//	pipelines/<name>-<hash>.log  for each address the last action
//	chain.jsonl                  every attempt at a counted step, each line with
//	                             the digest of the line before
//
// # Promises
//
// A process may be killed at any moment. A run's folder appears complete,
// except for the journal and the logs, which only grow. An incomplete last line
// is ignored. A run without an end in its journal is running while its lock is
// held, and was interrupted otherwise. The state of a pipeline is a log of
// complete lines. It is compacted into a new file, which is renamed. Several
// processes may use a run history at once. Only the end of a run and the lines of the
// chain are synced to disk to survive a power failure. Removing a run renames its
// folder before it is deleted, and adds a line to the chain if it is about the run.
//
// The secrets given at the beginning of a run (the values of sensitive
// variables) are masked in everything that is written. Steps mask the secrets
// that they resolve themselves.
//
// The run history is not a cache. Losing it loses history, explanations and expected
// durations, but no results.
package history
