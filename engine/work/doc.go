// Package work lets other machines run steps. They are connected to this one
// only by a remote cache and its desk.
//
// # Vocabulary
//
//   - An Order is a self-describing action: the kind of the step, its arguments
//     as values, and the digest that they must have.
//   - A Worker runs one action, given its digest and the remote cache.
//   - A claim names the worker that runs an action. Claims of an action are
//     numbered by generation; the highest one counts.
//   - A Result is a worker's answer to an order: a record, the failure of the
//     step, or a refusal.
//   - A Task is an order as seen by the machine that placed it.
//
// # Invariants
//
//   - A worker computes the key of the decoded step with its own kinds and
//     refuses if it differs from the action's digest. A worker of another version
//     therefore never records anything.
//   - A worker takes over a claim only after the holder has given it up or has
//     not renewed it for six of its intervals. The waiting worker measures them
//     by its own clock, so clocks need not agree.
//   - A holder that sees a higher generation, or no longer sees its own claim,
//     stops and records nothing. A recorded result is replaced only for an order
//     that demands a fresh one, and only by the holder of the claim.
//   - Content is written before the record, the record before the Result, and the
//     Result before the last events. A reader that sees the end sees everything.
//   - Orders, events and results hold references to secrets, never secrets.
//
// A worker that cannot reach the remote cache keeps working and retries. Its
// work is lost only if another worker takes over meanwhile.
package work
