// Package sched runs tasks that depend on each other on one machine. It knows
// nothing of pipelines, caches or files.
//
// # Life of a task
//
// A task waits for the tasks it comes after. Then it is resolved: Resolve is
// cheap, holds no resources, and says either that there is nothing to do or
// that the task must run. A task that must run waits for a lease of all its
// resources at once, is run, perhaps tried again, and ends. Every task ends
// in exactly one Status.
//
// # Order
//
// Prompt tasks come first. Then comes the task with the longest chain of work
// after it (its own included), the lower index among equals. A task that does not fit reserves what
// is free of the resources it waits for: tasks of lower priority only get
// what it has no use for, so large requests do not starve.
//
// # Failure
//
// When a task fails permanently, all that come after it are skipped and name it
// as the cause. Without KeepGoing nothing new starts after that, and what runs
// may finish. When the context is cancelled the contexts of running tasks are
// too; Run waits for them, starts nothing more and returns.
//
// # Devices
//
// GPUs are leased by name and never to two tasks at a time. With Locks that
// also holds between processes: each leased device is a locked file, released
// by the kernel when its holder dies.
//
// Run keeps all state in one goroutine; it sleeps when there is nothing to
// do. Waiting for a device that another process holds is the one thing it has
// to poll for.
package sched
