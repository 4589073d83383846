// Package service has the common parts of the servers that an agent may use outside its
// sandbox, such as the validity server (package validity) and the network proxy
// (package proxy).
//
// The host serves both through a listener in the agent's network namespace. Both write
// one line of JSON per request of the agent to a Journal.
package service
