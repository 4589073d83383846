// Package shim is the Python package and command "mlebench" that agents find in
// their sandbox: many of them import it, and some grade on private data with it
// while they search.
//
// # What works
//
// The registry (identifiers, sets, the one competition of the attempt with its
// name, description, public folder, sample submission and the direction of its
// metric), validate_submission, which asks the validity server, and the small
// tools of mlebench.utils. The package is pure Python 3.8 without dependencies;
// pandas is imported only by what returns tables.
//
// # What is refused
//
// Whatever would grade, or read answers, raw data or the leaderboard, raises
// mlebench.Refused, and is told to the host: POST /evidence of the validity
// server, or, if that fails, a line in LOGS_DIR. A Record holds the call, the
// names of its arguments, and the caller's file and line, never a value.
//
// # What a record proves
//
// That the agent's side sent it. The package is in the agent's sandbox, and an
// agent may bypass it, suppress its records or make some up. What keeps the
// answers from an agent is that they are not there, not this package.
package shim
