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
// on; with the process runtime they lie in a private folder. Further
// COMPETITION_ID, INSTRUCTIONS_FILE, HOME, TMPDIR, PATH, LANG, MLEFLOW_SEED,
// MLEFLOW_RUNTIME, MLEFLOW_CPUS, MLEFLOW_MEMORY_BYTES, MLEFLOW_DEVICES, and,
// with a time limit, MLEFLOW_TIMEOUT_SECONDS and MLEFLOW_DEADLINE (seconds
// since 1970), so that it can plan. Nothing else but what its agent block, its
// secrets and the step's env say. The private files of the competition are in
// none of this: the kind is Untrusted, so that the engine refuses to give them.
//
// # What comes back
//
// However the agent ends, what lies in the three kept folders is harvested:
// links, devices, pipes and sockets are never followed or opened, sizes and
// depth are capped, and what is left out is listed. A failed agent is a
// result with an outcome; only a failure of the machine is an error, and it
// is retryable.
//
// Secrets are resolved when the agent starts. They are in no key and no
// record, and package secret masks their values in what is printed and
// harvested, names of files included. Where two names become one that way, the
// second file is left out. Values of less than four bytes are masked only in
// what is printed.
package agentrun
