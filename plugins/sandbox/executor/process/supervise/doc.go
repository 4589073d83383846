// Package supervise is the supervisor of commands that run as plain processes, one
// after another, and what it and its owner say to each other; package process says
// what it promises. A program that imports this package serves as one when it starts
// itself with Command as its only argument and Variable in its environment.
//
// That happens while packages are initialised, which Go does in the order of
// their import paths as far as their imports allow. So this package imports only
// what is there early, parts of the standard library, and its owner must not
// start it for anything else. It starts in 2 ms by that, where the initialisation of
// the whole program alone takes 10.
package supervise
