// Package shim is the Python package and command "mlebench" in an agent's sandbox. Many
// agents import it, and some grade on private data with it while they search.
//
// # What works
//
// The registry works (identifiers, sets, and the attempt's own competition with its
// name, description, public folder, sample submission and the direction of its metric).
// So do validate_submission, which asks the validity server, mlebench.score, which asks it
// for a validation score if the attempt has one, and the small tools of mlebench.utils. The package is pure Python 3.8 without dependencies; pandas is
// imported only by functions that return tables.
//
// # What is refused
//
// Every call that would grade, or read answers, raw data or the leaderboard, raises
// mlebench.Refused. It is reported to the host by POST /evidence of the validity server
// or, if that fails, as a line in LOGS_DIR. A Record contains the call, the names of
// its arguments, and the caller's file and line, never a value.
//
// # What a record proves
//
// A record proves that the agent's side sent it. The package is in the agent's sandbox,
// so an agent may bypass it, suppress its records or invent some. The answers are safe
// from an agent because they are not there, not because of this package.
package shim
