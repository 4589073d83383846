// Package executor is the contract of the runtimes that run a command for a step: an
// agent, or the command of an exec step.
//
// # Vocabulary
//
//   - A Spec describes a run: command, environment, folders, limits.
//   - An Exit describes how the command ended and the resources that it used.
//     However a command ends, the result is an Exit; an error means that the
//     runtime failed.
//   - A Runtime is an Executor with its name and its guarantees.
//   - The host is where mleflow runs; the guest is the command's view of it.
//   - A Service is a server of the host that the guest reaches on its loopback
//     interface. In runtimes that isolate, services and mounts are the only ways
//     out of the sandbox.
//   - A Volume is a folder of the host with a fixed size, to be mounted where
//     the guest may write.
//
// # Invariants
//
// When Run returns, nothing that the command started is alive, even if it forked twice,
// changed its session or ignored signals. A command with Spec.Resume lives on only if
// the process that called Run dies. Only the variables that the Spec names reach the
// command's environment, except those that the runtime documents. The command's output
// arrives in the given writers before Run returns, up to Limits.LogBytes. Every runtime
// must pass the suite executortest.
package executor
