// Package kubernetes starts workers as Jobs of a Kubernetes cluster.
//
// Each action is a Job with one pod. Kubernetes schedules and restarts pods, ends them
// at their deadline and cleans up. The package writes the Job and reads its outcome:
//
//   - Exit status 78 of the worker, a refusal, fails the Job at once, a disruption (eviction,
//     preemption, a lost node) restarts it without being counted, and everything
//     else counts against its backoff limit.
//   - The deadline is that of the pod, not of the Job: a Job's clock runs while it
//     waits for a node.
//   - Three cases never end by themselves, so the watching process ends them: an
//     image that cannot be pulled, a pod that has reached its deadline, and a pod
//     on a node that no longer answers. The verdict is an annotation of the Job,
//     which every other controller reads.
//   - A pod that no node could run, and one that is refused for what it is, are Pending and
//     Final; whoever started the job cancels it.
//
// A site's requirements are a patch of the pod, which may set only what changes neither the
// worker nor its isolation.
//
// All Jobs and pods are followed by one list and watch each, by the reflector of
// client-go, which survives an API server that restarts and resource versions
// that expire. Only a few words of each object are kept.
package kubernetes
