// Package local is a cluster of one machine: it starts workers as processes.
//
// It shows the duties of a backend, and makes it possible to try and test clusters
// without one. It does not limit the resources of workers: jobs that do not fit wait,
// but a worker that takes more than it reserved is not stopped.
//
// # State
//
// Each job has a folder with its file job.json, its worker's output, and a file lock.
// A shell that outlives this process holds the lock while a worker runs. So another
// process finds the job again and sees its end.
package local
