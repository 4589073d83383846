// Package agentrun is the step kind "agent-run": one attempt of an agent at a
// competition.
//
// # What the agent gets
//
// Folders, by the names that agents of the reference know, too:
//
//	DATA_DIR        the competition's public files, read-only
//	SUBMISSION_DIR  submission.csv is what gets graded
//	LOGS_DIR        kept with the result
//	CODE_DIR        kept with the result
//	AGENT_DIR       its own, not kept
//
// With runtimes that map folders they are /home/data, /home/submission and so
// on, where /home is the image's own with these on top; with the process
// runtime they are in a private folder, but for the data: a folder that other
// attempts read, too, and that is checked when the agent has ended. Further
// COMPETITION_ID, INSTRUCTIONS_FILE, HOME, TMPDIR, LANG, PYTHONUNBUFFERED, MLEFLOW_SAMPLE (the
// public sample submission, if there is one), MLEFLOW_SEED, MLEFLOW_RUNTIME,
// MLEFLOW_CPUS, MLEFLOW_MEMORY_BYTES, MLEFLOW_DEVICES, MLEFLOW_GATEWAY, and,
// with a time limit, MLEFLOW_TIMEOUT_SECONDS, TIME_LIMIT_SECS and
// MLEFLOW_DEADLINE (seconds since 1970), so that it can plan; PATH is the
// image's or, without one, ours. Nothing else but what the image, its agent
// block, its secrets and the step's env say. The private files of the
// competition are in none of this: the kind is Untrusted, so that the engine
// refuses to give them.
//
// # What the agent can ask
//
// MLEFLOW_GATEWAY is the address of the validity server (package validity),
// http://localhost:5000 in runtimes that isolate: /health, /validate, and
// /budget for the time that is left. It judges by the public sample submission
// only; the answers are nowhere near it. /home/validate_submission.sh asks it
// for those who have curl.
//
// With network.allow the usual variables (HTTPS_PROXY and so on) name a proxy
// (package proxy) that reaches the listed places and nothing else; it is all
// there is of the network in runtimes that isolate. The process runtime cannot
// keep an agent to it and says so.
//
// With shim the package mlebench (package shim) is on its path. What that
// refused is the output shim_log.
//
// # When mleflow dies
//
// With a runtime that can resume, the attempt's folders and the agent are named
// after the action and the cache, and outlive the process. The next apply of the
// same action goes on: it serves the same servers, keeps the same clock and
// harvests. If the machine was restarted, or the agent is gone, the attempt
// begins again in empty folders.
//
// # What comes back
//
// However the agent ends, what is in the three kept folders is harvested:
// links, devices, pipes and sockets are never followed or opened, sizes,
// depth and the time that many files take are capped, and what is left out is
// listed. The submission alone may be a relative link, to a file in its folder. A failed agent is a result
// with an outcome; only a failure of the machine is an error, and it is
// retryable. Of an attempt that the machine spoilt, the log says what there
// was.
//
// snapshot_every keeps what is at the submission's path so often, read from
// outside; a file that is being written is read again a little later. The step
// grade scores the snapshots: score over time, of which the agent knows
// nothing. The code is kept then, too, if it has changed.
//
// Secrets are resolved when the agent starts. They are in no key and no
// record, and package secret masks their values in what is printed and
// harvested, names of files included. Where two names become one that way, the
// second file is left out. Values of less than four bytes are masked only in
// what is printed.
package agentrun
