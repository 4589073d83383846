// Package model is the model gateway: the reverse proxy by which an agent uses
// language models, with a key that is worth nothing elsewhere, within a budget,
// and with every exchange recorded.
//
// # Vocabulary
//
//   - A Model is what a pipeline declares: a provider, which of its models, which
//     of its abilities, at which price, within which budget.
//   - The gateway serves one attempt. Each Model is served below a path of its
//     name, in the dialect of its provider (package dialect).
//   - The virtual key is the one that the agent has; the real one is the
//     provider's and stays on this side.
//   - A reservation is the most that a request may cost, taken from the budget
//     before it is forwarded and settled by the usage that is reported.
//   - An Upstream answers what was let through: the provider itself, or a
//     recording (package transcript).
//
// # Invariants
//
// No request is forwarded that the budget does not cover in the worst case, so
// that any number of requests at once never spends more than the budget. What a
// response does not report is settled at its reservation, unless the provider
// itself says that it failed. A response that uses more than was reserved for it
// takes the rest from the budget, or is cut. Reservations are written down before
// a request leaves, so that a budget holds over a crash.
//
// The real key is only in the header of the request to the provider. It is in no
// error, record or log, and a redirect is never followed.
//
// Request and response pass byte for byte, but for the key, hop-by-hop headers,
// and what dialect.Request.Changed names; the record says what that was.
package gateway
