// Package transcript records the exchanges between an agent and its models, and
// plays them back.
//
// # Form
//
// A transcript is a folder. events.jsonl has one Event per line. requests.bin
// and responses.bin hold the bodies. An event refers to its bodies by ranges of
// these files, so a history that each request repeats is stored once. FORMAT.md
// has the details.
//
// A Writer appends to a transcript while an attempt runs, and continues after a
// crash. A Reader accepts transcripts from untrusted sources: it uses a bounded
// amount of memory for any content.
//
// # Replay
//
// A Player answers a request with its recorded response. Two runs of an agent
// never send the same bytes: identifiers, times and cache keys differ. A
// request is therefore found by its conversation, its position in it, and its
// canonical form (see dialect.Canonical). A request without a recording is a
// Miss, which shows the nearest recording and the first difference.
//
// The package opens no connection. It masks the given secrets in everything it
// writes. It cannot mask a secret that a model spreads over several events of a
// stream.
package transcript
