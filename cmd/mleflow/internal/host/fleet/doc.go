// Package fleet joins a cluster file, the backends that it declares and the
// engine: it is what runs steps elsewhere.
package fleet
