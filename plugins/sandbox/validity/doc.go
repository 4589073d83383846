// Package validity is the server that tells an agent whether its submission is valid,
// never how good it is.
//
//	GET  /health    {"status":"running"}
//	POST /validate  multipart form with a file in the field "file";
//	                {"result":"Submission is valid."} or
//	                {"result":"Submission invalid! …"}
//	GET  /budget    {"limit_seconds":…,"elapsed_seconds":…,"remaining_seconds":…}
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
// Other statuses: 400 without a file, 404 and 405 as usual, 413 for a file that is too
// large, 429 if too many requests wait, 500 if the check failed.
package validity
