// Package sandbox proves from outside what mleflow promises of agents in
// containers: real applies on a private containerd, with agents (see command
// rogue) that look for what they must not know, break their limits and refuse
// to die, and with kills of mleflow and of the machine's containers at any
// moment.
//
// The tests need root, containerd, runc and e2fsprogs. Without them they are
// skipped, saying why; where CI is set that fails. How often they try is set by
// MLEFLOW_LIMIT_RUNS (100 for the full number) and MLEFLOW_SANDBOX_KILLS (50).
// UPDATE_GOLDEN=1 writes PROBES.md again.
package sandbox
