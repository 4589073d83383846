// Package agentrun is the step kind "agent-run": one attempt of an agent at a
// competition.
//
// # What the agent gets
//
// It gets folders under the names that agents of the reference expect:
//
//	DATA_DIR        the competition's public files, read-only
//	SUBMISSION_DIR  submission.csv is what gets graded
//	LOGS_DIR        kept with the result
//	CODE_DIR        kept with the result
//	AGENT_DIR       its own, not kept
//
// In runtimes that map folders they are /home/data, /home/submission and so on, on top
// of the image's own /home. In the process runtime they are in a private folder, except
// for the data: a folder that other attempts read too and that is checked when the
// agent has ended.
//
// The environment also has COMPETITION_ID, INSTRUCTIONS_FILE, HOME, TMPDIR, LANG,
// PYTHONUNBUFFERED, MLEFLOW_SAMPLE (the public sample submission, if there is one),
// MLEFLOW_SEED, MLEFLOW_RUNTIME, MLEFLOW_CPUS, MLEFLOW_MEMORY_BYTES, MLEFLOW_DEVICES
// and MLEFLOW_GATEWAY. If there is a time limit, MLEFLOW_TIMEOUT_SECONDS,
// TIME_LIMIT_SECS and MLEFLOW_DEADLINE (seconds since 1970) let the agent plan. PATH is
// the image's or, without an image, ours. There are no other variables, except those of
// the image, of the agent block, of its secrets and of the step's env. None of this
// contains the private files of the competition: the kind is Untrusted, so the engine
// refuses to pass them.
//
// # What the agent can ask
//
// MLEFLOW_GATEWAY is the address of the validity server (package validity),
// http://localhost:5000 in runtimes that isolate. It serves /health, /validate and, for
// the remaining time, /budget. It judges only by the public sample submission and has
// no access to the answers. The script /home/validate_submission.sh asks it by means of
// curl.
//
// With network.allow, the usual variables (HTTPS_PROXY and so on) name a proxy (package
// proxy) that reaches only the listed destinations. In runtimes that isolate, it is the
// only network. The process runtime cannot restrict an agent to it, and says so.
//
// With shim, the package mlebench (package shim) is on the agent's Python path. The
// calls that it refused are in the output shim_log.
//
// # When mleflow dies
//
// With a runtime that can resume, the attempt's folders and the agent are named after
// the action and the cache, and they outlive the process. The next apply of the same
// action continues: it serves the same servers, keeps the same clock, and harvests. If
// the machine was restarted, or the agent is gone, the attempt begins again in empty
// folders.
//
// With on_loss, checkpoints let the attempt go on even then, also on another machine;
// see package checkpoint. An agent that goes on sees MLEFLOW_RESUME_COUNT and, if its
// files are those of a checkpoint, MLEFLOW_RESUMED=1. Its time limit is what is left.
//
// # What comes back
//
// However the agent ends, the three kept folders are harvested. Links, devices, pipes
// and sockets are never followed or opened. Sizes, depth and the time for large numbers
// of files are limited, and everything left out is listed. Only the submission may be a
// relative link, to a file in its folder. A failed agent is a result with an outcome.
// Only a failure of the machine is an error, and it is retryable. If the machine fails
// during an attempt, the log says which files there were.
//
// snapshot_every keeps a copy of the submission at that interval, read from outside. A
// file that is being written is read again a little later. The step grade scores the
// snapshots, which gives the score over time; the agent does not learn of it. Code that
// has changed is kept at the same times.
//
// Secrets are resolved when the agent starts. They are in no key and no record. Package
// secret masks their values in printed output. Harvested files stay as they are; where
// one has a secret, the record says in which output.
package agentrun
