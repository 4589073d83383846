// Package service runs pipelines that people submit to a server: it keeps their files and
// a queue in a folder of the cache, and runs each submission by a process of its own,
// mleflow apply. It knows owners by name only; who someone is and what he may do is the
// caller's matter.
//
// # Routes
//
// A server offers this package to mleflow apply --server by these routes below
// {base}/api/v1, in JSON:
//
//	POST /files/missing               {"digests": […]} → {"missing": […]}
//	PUT  /files/{digest}              the content
//	POST /submissions                 Manifest → Submission
//	GET  /submissions                 {"submissions": [Submission, …]}
//	GET  /submissions/{id}            Submission
//	POST /submissions/{id}/cancel     {} → Submission
//	POST /submissions/{id}/continue   {} → Submission
//	POST /submissions/{id}/priority   {"priority": N} → Submission
//	POST /submissions/{id}/publish    {"public": true} → Submission
//	GET  /submissions/{id}/output     what the run printed: text
//	GET  /submissions/{id}/messages   what it said beside, on standard error: text
//	GET  /runs/{run}/events           server-sent events: data is a line of the journal,
//	                                  id its number from 1; Last-Event-ID continues; the
//	                                  stream ends with the event "end" when the run has ended
//
// Errors are {"error": "…"} with a status from 400 on. An answer to a request that can be
// repeated has 503 where the server is about to stop.
package service
