// Package agent holds the built-in agents, which need only the mleflow binary: "dummy"
// submits the sample submission, and "baseline" trains a small neural network on
// train.csv and predicts test.csv.
//
// An agent is a separate program. It runs as the hidden command "mleflow agent NAME"
// under a runtime and, like any other agent, knows only its environment:
//
//   - DATA_DIR: the public files of the competition, read-only;
//   - SUBMISSION_DIR: submission.csv goes here;
//   - CODE_DIR, LOGS_DIR: its model and its log, kept with the result;
//   - MLEFLOW_SAMPLE: the sample submission, if there is a public one;
//   - MLEFLOW_SEED: the seed of all randomness;
//   - VALIDATION_DIR, MLEFLOW_GATEWAY: with both, the baseline trains several networks, asks
//     for the validation score of each, and submits the best.
//
// With the same data, seed, processor family and version, an agent submits the same
// bytes. It uses no network but for these scores, and reads no other files.
package agent
