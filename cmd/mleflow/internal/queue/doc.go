// Package queue is what the queues of a server share: whose turn it is among people with
// limits and shares, and records in a folder that survive a crash. It knows owners by name
// only, and runs nothing.
package queue
