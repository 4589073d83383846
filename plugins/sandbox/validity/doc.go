// Package validity is the server that tells an agent whether its submission
// is valid, never how good it is.
//
//	GET  /health    {"status":"running"}
//	POST /validate  multipart form with a file in the field "file";
//	                {"result":"Submission is valid."} or
//	                {"result":"Submission invalid! …"}
//	GET  /budget    {"limit_seconds":…,"elapsed_seconds":…,"remaining_seconds":…}
//	POST /evidence  what the package mlebench of the sandbox refused (package
//	                shim), where it is there
//
// The first two are what agents of the reference know. /budget says how much
// time is left; limit and remainder are null without a limit.
//
// # What it does not tell
//
// The server knows a check, not the answers, and passes on what the check says
// of the file. A failure of the check is told in fixed words. Files are
// checked one after the other, and after each the server rests for as long as
// the check took, so that an agent cannot take the machine for itself.
//
// Other statuses: 400 without a file, 404 and 405 as usual, 413 for a file that
// is too large, 429 when too many wait, 500 when the check failed.
package validity
