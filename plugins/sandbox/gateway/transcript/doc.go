// Package transcript keeps what an agent and its models said to one another,
// and plays it back.
//
// # Form
//
// A transcript is a folder: events.jsonl holds one Event a line; bodies.bin
// holds the bodies, each piece once. An event names its bodies by the pieces
// that they consist of, so that a history that each request repeats is stored
// once. FORMAT.md has the details.
//
// # Replay
//
// A Player answers a request with the response that was recorded for it. Two
// runs of one agent never send the same bytes: identifiers, times and cache keys
// differ. So a request is found by its conversation, its position in it, and its
// canonical form (see dialect.Canonical). A request without a recording is a
// Miss, which shows the nearest one and the first difference.
//
// The package opens no connection. It knows no key: what it is given was masked
// before.
package transcript
