// Package engine plans and applies pipelines. It joins the language
// (engine/config), the scheduler (engine/sched), the cache and the ledger; it
// knows no step kind by name and prints nothing.
//
// # One rule for plan and apply
//
// A plan decides every instance whose inputs are known: its key is computed
// and looked up, and it is cached or will run. An instance that depends on
// one that will run is deferred: its key is not known yet. Apply makes the
// same plan, then executes it; a deferred instance is decided by the same
// function as soon as its inputs are known, so that an unchanged output stops
// the rebuild there. What the plan says will run is executed, what it says is
// cached is not.
//
// # State
//
// There is none but the cache's index (what an action gave), the ledger (what
// happened) and content. A finished step is recorded before anything that
// depends on it starts, so a process killed at any moment loses at most the
// steps in flight.
package engine
