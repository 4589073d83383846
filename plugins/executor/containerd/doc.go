// Package containerd talks to containerd, the runtime of agents that must be
// isolated. So far it asks a daemon whether it is there and of which version,
// for the doctor; running agents is not in it yet, and no registry lists it
// as a runtime.
//
// It is the only user of the containerd client.
package containerd
