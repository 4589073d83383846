// Package transcript keeps what an agent and its models said to one another,
// and plays it back.
//
// # Form
//
// A transcript is a folder. events.jsonl has one Event a line; requests.bin and
// responses.bin have the bodies. An event names its bodies by ranges of these
// files, so that a history that each request repeats is stored once. FORMAT.md
// has the details.
//
// A Writer adds to a transcript while an attempt runs, and goes on after a
// crash. A Reader reads one that may have been made by anybody: whatever its
// files say, it uses a bounded amount of memory.
//
// # Replay
//
// A Player answers a request with the response that was recorded for it. Two
// runs of one agent never send the same bytes: identifiers, times and cache keys
// differ. So a request is found by its conversation, its position in it, and its
// canonical form (see dialect.Canonical). A request without a recording is a
// Miss, which shows the nearest one and the first difference.
//
// The package opens no connection. Secrets that it is given are masked in all
// that it writes. It cannot mask one that a model spells over several events of
// a stream.
package transcript
