// Package executor is the contract of the runtimes that run a command for a
// step: an agent, or the command of an exec step.
//
// # Vocabulary
//
//   - A Spec says what runs: command, environment, folders, limits.
//   - An Exit says how it ended and what it used. However a command ends, it is
//     an Exit; an error means that the runtime could not do its work.
//   - A Runtime is an Executor with its name and what it promises.
//   - The host is where mleflow runs, the guest is what the command sees.
//   - A Service is a server of the host that the guest reaches on its loopback
//     interface: in runtimes that isolate, the one way out of the sandbox
//     besides its mounts.
//   - A Volume is a folder of the host with a size of its own, to be mounted
//     where the guest may write.
//
// # Invariants
//
// When Run returns, nothing that the command started is alive, whether it
// forked twice, changed session or ignored signals; a command with Spec.Resume
// lives on only when the process that called Run dies. Nothing but what the Spec
// names reaches the command's environment, save what the runtime documents.
// What the command prints arrives in the given writers before Run returns, up
// to Limits.LogBytes. executortest is the suite that every runtime must pass.
package executor
