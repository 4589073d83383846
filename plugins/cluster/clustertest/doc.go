// Package clustertest is the suite that every cluster.Backend passes.
//
// The suite's jobs run a stand-in for the worker: the test binary itself, whose
// TestMain calls Worker when its first argument is Command. What a testbed cannot
// do, such as losing a node, it leaves out of its Bed; those tests are skipped
// by name.
package clustertest
