// Package engine plans and applies pipelines. It joins the language
// (engine/config), the scheduler (engine/sched), the cache and the run history. It
// knows no step kind by name and prints nothing.
//
// # One rule for plan and apply
//
// A plan decides every instance with known inputs: its key is computed and
// looked up, and the instance is either cached or will run. An instance that
// depends on one that will run is deferred, because its key is not known yet.
// Apply makes the same plan and executes it. The same function decides a
// deferred instance as soon as its inputs are known. An unchanged output
// therefore stops the rebuild. Apply executes the steps that the plan marks to
// run, and none that it marks as cached.
//
// # State
//
// State exists only in the cache's index (results of actions), the run history
// (history) and content. A finished step is recorded before any dependent step
// starts. A process killed at any moment loses at most the steps in progress.
package engine
