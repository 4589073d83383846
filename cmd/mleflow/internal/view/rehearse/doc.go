// Package rehearse makes a report of a rehearsal: what it says about the real run, before
// anybody pays for that.
//
// # Vocabulary
//
//   - A rehearsal is a run on the small synthetic data that ship with the definitions; see
//     competitions.Definition.Rehearsed.
//   - The real run is what the same pipeline would do with the real data.
//   - An attempt is ready if its agent ended by itself with a valid submission.
//
// # The model of the estimates
//
// The real run's time, tokens and cost lie between two assumptions. The low one is that
// the agent does as much as in the rehearsal. The high one is that it goes on at the same
// rate until its time limit. Both are for all attempts of the real run. Sizes on disk are
// those of package footprint, and of the plan where it knows better.
package rehearse
