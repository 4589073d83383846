// Package validity is the server that tells an agent whether its submission is valid. It
// never tells how good a submission is. An attempt with a validation score can also ask how
// good predictions for inputs are that were held out of its training data.
//
//	GET  /health    {"status":"running"}
//	POST /validate  multipart form with a file in the field "file";
//	                {"result":"Submission is valid."} or
//	                {"result":"Submission invalid! …"}
//	GET  /budget    {"limit_seconds":…,"elapsed_seconds":…,"remaining_seconds":…}
//	POST /score     form as for /validate; {"score":…,"best":…,"left":49,
//	                "is_lower_better":false}, or what Queries are to report
//	GET  /score     the number of queries, those left, and the wait
//	POST /evidence  a refusal of the package mlebench in the sandbox (package
//	                shim), if the sandbox has it
//
// Agents of the reference know the first two. /budget reports the remaining time; limit
// and remainder are null without a limit.
//
// # What it does not reveal
//
// The server has a check, not the answers, and passes on the check's verdict on the
// file. The reply to a failed check is a fixed text. Files are checked one after the
// other. After each one the server rests for as long as the check took, so that an
// agent cannot monopolise the machine.
//
// # What a query costs
//
// POST /score costs one query for each file that is scored. The query is on disk before the
// file is scored: a process that is killed in between has spent it. The same bytes are the
// same query and cost nothing more, so that an agent can ask again for an answer that it did
// not get. An invalid file gets a verdict on its form, which does not depend on the labels.
// As many of them as there are queries are free; each further one costs a query. When no
// queries are left, there are no verdicts either.
//
// Other statuses: 400 without a file, 403 without a query that is left, 404 and 405 as
// usual, 413 for a file that is too large, 422 for a file that /score finds invalid, 429 if
// too many requests wait or the next query must wait, 500 if the check failed.
package validity
