// Package work lets other machines run steps, with nothing between them and
// this one but a remote cache and its desk.
//
// # Vocabulary
//
//   - An Order is an action made self-describing: the kind of the step, its
//     arguments as values, and the digest that they must have.
//   - A Worker runs one action, given its digest and the remote cache.
//   - A claim says which worker does so. Claims of an action are numbered by
//     their generation; the highest one counts.
//   - A Result is what came of an order: a record, the failure of the step, or
//     a refusal.
//   - A Task is an order seen from the machine that gave it.
//
// # Invariants
//
//   - A worker computes the key of what it decoded with its own kinds, and
//     refuses if it is not the action's digest. So a worker of another version
//     never records anything.
//   - A worker takes a claim over only when the holder has given it up, or has
//     not renewed it for six of its intervals, measured by the clock of who
//     waits. So clocks need not agree.
//   - A holder that sees a higher generation, or no claim of its own, stops and
//     records nothing. A result that another one has recorded stays; only an
//     order for a fresh result replaces it, and only the holder.
//   - Content comes before the record, the record before the Result, the Result
//     before the last of the events. So whoever sees the end sees everything.
//   - Orders, events and results hold references to secrets, never secrets.
//
// A worker that cannot reach the remote cache goes on working and tries again;
// its work is lost only if another one has taken over meanwhile.
package work
