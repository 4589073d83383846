// Package agent holds the built-in agents, which need nothing but the binary:
// "dummy" submits the sample submission, "baseline" trains a small neural
// network on train.csv and predicts test.csv.
//
// An agent is a program of its own. It runs as the hidden command
// "mleflow agent NAME" under a runtime and knows only its environment, as any
// other agent:
//
//   - DATA_DIR: the public files of the competition, read-only;
//   - SUBMISSION_DIR: submission.csv goes here;
//   - CODE_DIR, LOGS_DIR: what it worked with and what it saw, kept with the
//     result;
//   - MLEFLOW_SAMPLE: the sample submission, where there is a public one;
//   - MLEFLOW_SEED: the seed that all randomness follows from.
//
// With the same data, seed, processor family and version an agent submits the
// same bytes. It reads no network and no file but those below DATA_DIR.
package agent
