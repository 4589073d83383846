// Package ledger keeps what is remembered of runs, in a folder:
//
//	runs/<run>/run.json          what was run, where and by which version
//	runs/<run>/plan.json         the plan it followed
//	runs/<run>/pipeline/         the text of the pipeline
//	runs/<run>/events.jsonl      the journal: one event a line
//	runs/<run>/logs/             what steps printed, one file an attempt
//	runs/<run>/lock              locked while the run's process lives
//	pipelines/<name>-<hash>.log  for each address the last action
//
// # Promises
//
// A process may be killed at any moment. A run's folder appears complete with
// everything but the journal and the logs, which only grow; a last line that
// is torn is not read. A run whose journal has no end is running as long as
// its lock is held, and was interrupted when it is not. The state of a
// pipeline is a log of whole lines that is compacted into a new file and
// renamed. Several processes may use a ledger at once. Against the loss of
// power only the end of a run is synced to the disk.
//
// The secrets that a run is begun with (the values of sensitive variables) are
// masked in everything that is written. Steps mask the secrets that they
// resolve themselves.
//
// The ledger is no cache: a lost ledger loses history, explanations and
// expected durations, never results.
package ledger
