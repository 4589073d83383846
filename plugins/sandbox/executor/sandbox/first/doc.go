// Package first is the first process of a sandbox, and its protocol with its owner, which
// package sandbox is. A program that imports this package becomes a first process when it
// starts itself as process 1 with Command as its only argument and Variable in its
// environment.
//
// It does so during the initialisation of packages, as package supervise does, and for the
// same reason. This package therefore imports only packages that are initialised early:
// none of strings, path/filepath, encoding/json, net and golang.org/x/sys/unix.
package first
