// Package gateway holds what an agent may talk to outside its sandbox: the
// validity server (package validity) and the network proxy (package proxy).
//
// Both are served by the host through a listener that is in the agent's network
// namespace, and both write one line of JSON for each thing that an agent asked
// for, by a Journal.
package service
