// Package gateway is the model gateway, the reverse proxy through which an
// agent uses language models. The agent's key works nowhere else, its use is
// bounded by a budget, and every exchange is recorded.
//
// # Vocabulary
//
//   - A Model is one model block of a pipeline: a provider, the allowed models
//     and abilities, their prices and a budget.
//   - The gateway serves one attempt. Each Model is served below a path with its
//     name, in the dialect of its provider (package dialect).
//   - The virtual key is given to the agent. The real key is the provider's; the
//     agent never sees it.
//   - A reservation is the maximum cost of a request. It is taken from the budget
//     before the request is forwarded and settled by the reported usage.
//   - An Upstream answers accepted requests: the provider itself, or a recording
//     (package transcript).
//
// # Invariants
//
// A request is forwarded only if the budget covers its worst case. Any number
// of concurrent requests therefore never spends more than the budget. A
// response without a credible usage is charged an estimate, at most its
// reservation, and marked. One that its client left is read to its end. A
// response that uses more than its reservation takes the rest from the budget,
// or is cut off. Reservations are written to disk before a request is sent, so a
// budget survives a crash.
//
// The real key appears only in the header of the request to the provider. It is
// in no error, record or log. Redirects are never followed.
//
// Requests and responses pass byte for byte, except for the key, hop-by-hop
// headers and the changes listed in dialect.Request.Changed, which are
// recorded.
package gateway
