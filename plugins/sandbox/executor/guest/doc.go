// Package guest has the parts of runtimes that the first process of a sandbox needs, too:
// what a guest sees of the machine, its output, its program, and its loopback interface.
//
// The first process starts during the initialisation of packages; see package first. This
// package therefore imports only packages that are initialised early: none of strings,
// path/filepath, encoding/json, net and golang.org/x/sys/unix.
package guest

// Address stands for a service's address in the values of its variables.
const Address = "{address}"
