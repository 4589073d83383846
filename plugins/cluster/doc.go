// Package cluster is the contract with the systems that start workers on other
// machines, such as Kubernetes and Slurm.
//
// A Backend starts, watches, cancels and finds jobs again. It knows nothing of
// pipelines, caches or steps: a job is one command line, `mleflow worker
// ACTION`, with what it needs and a name that is derived from the action. All
// state of the work is in the remote cache, where the worker writes its events and
// its result. The end of a job means only that its worker no longer runs.
//
// # Names
//
// The name of a job is that of its action. So there is at most one job for an
// action in a cluster, whoever started it: a controller that was killed, or
// another machine that applies the same pipeline, finds the job and waits for
// it. Start adopts a job that waits or runs, and replaces one that has ended.
//
// # Failures
//
// A worker exits with one of three statuses. ExitDone: the outcome of the action, a
// result or the failure of the step, is in the remote cache. ExitFailed:
// something around the action failed, so another worker may succeed. ExitRefused:
// no worker can run the action. A program that is missing on the node is a refusal
// too. Anything else that ends a job, such as a lost
// node, an eviction, a preemption or an image that cannot be pulled, is the
// machines' failure; a backend restarts the job up to Job.Retries times and
// then reports it as Failed with a Reason. None of them is ever the agent's.
//
// # Adding a backend
//
// One folder with a Backend that passes clustertest.Run, and one line in
// cluster/all.
package cluster
