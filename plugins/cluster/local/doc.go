// Package local is a cluster of one machine: it starts workers as processes.
//
// It shows what a backend has to do, and lets everything about clusters be
// tried and tested without one. It does not bound what workers use: jobs that do
// not fit wait, but a worker that takes more than it reserved is not stopped.
//
// # State
//
// Each job has a folder with its file job.json, what its worker prints, and a
// file lock that is held while a worker runs, by a shell that outlives this
// process. So another process finds the job again, and sees that it ended.
package local
