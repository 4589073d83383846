// Package sched runs interdependent tasks on one machine. It knows nothing
// about pipelines, caches or files.
//
// # Life of a task
//
// A task waits for its predecessors. Then it is resolved: Resolve is cheap,
// holds no resources, and reports whether there is anything to do. A task that
// must run waits for a lease of all its resources at once, runs, is perhaps
// retried, and ends. Every task ends in exactly one Status.
//
// # Order
//
// Prompt tasks come first. Then comes the task with the longest chain of work
// from it on. Of equal tasks, the lower index comes first. A task that does not
// fit reserves the free part of the resources for which it waits. Tasks of
// lower priority get only resources that it does not need, so large requests do
// not starve.
//
// # Failure
//
// If a task fails permanently, all its successors are skipped, with it as the
// cause. Without KeepGoing, nothing new starts after that, and running tasks
// may finish. If the context is cancelled, so are the contexts of running
// tasks. Run waits for them, starts nothing more and returns.
//
// # Devices
//
// GPUs are leased by name and never to two tasks at a time. With Locks, this
// also holds between processes: each leased device is a locked file. The kernel
// releases the lock if its holder dies.
//
// Run keeps all state in one goroutine, which sleeps if there is nothing to do.
// It polls only for devices held by other processes.
package sched
