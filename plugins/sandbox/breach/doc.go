// Package breach looks for ways out of an agent's sandbox before the agent starts in
// it.
//
// If mleflow runs inside a container, such as a worker's pod, the surrounding network
// and files contain things that no agent may have: the cloud's metadata service, the
// API server, the cluster's name service, the remote cache and its credentials. Only
// the sandbox keeps the agent from them. Therefore the machine lists what is forbidden
// (Around). This program then starts in the same kind of sandbox, in place of the agent
// (Main), and tries each of them: it connects, opens and reads. Everything that
// succeeds is a breach.
//
// A search that finds nothing must be meaningful. Around therefore sets traps that
// certainly exist, a server and a file of its own. A program that shares its network or
// its files does reach them.
//
// No secret is copied: files and variables are compared by a keyed hash.
package breach
