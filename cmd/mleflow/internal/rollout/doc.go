// Package rollout keeps the rollouts of a server: attempts that a trainer asks for by
// requests with keys. A key stands for one rollout, whatever happens to the request and to
// the server. The package knows owners by name only, and runs nothing itself: a Runner does.
//
// Rollouts are files in a folder of the cache. One that had not ended when a server died is
// queued again by the next: its attempt is found again or repeated, and it has one result.
package rollout
