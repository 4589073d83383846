// Package supervise is the supervisor of commands that run as ordinary processes, one
// after another, and its protocol with its owner. Package process documents its
// guarantees. A program that imports this package becomes a supervisor when it starts
// itself with Command as its only argument and Variable in its environment.
//
// It does so during the initialisation of packages, which Go performs in the order of
// their import paths as far as their imports allow. This package therefore imports only
// packages that are initialised early, which are parts of the standard library, and its
// owner must not start it for anything else. A supervisor thus starts in 2 ms, whereas
// the initialisation of the whole program alone takes 10 ms.
package supervise
