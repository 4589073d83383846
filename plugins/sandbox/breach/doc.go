// Package breach looks for ways out of an agent's sandbox before the agent is
// started in it.
//
// Where mleflow runs inside a container, such as a worker's pod, the network and
// the files around it hold what no agent may have: the cloud's metadata service,
// the API server, the cluster's name service, the remote cache and the
// credentials for it. What keeps the agent from them is the sandbox alone. So the
// machine lists what is forbidden (Around), and this program, started in the same
// kind of sandbox in place of the agent (Main), tries each: it connects, opens and
// reads. Anything that succeeds is a breach.
//
// To find nothing must mean something, so Around adds traps that exist for
// certain: a server and a file of its own, which whoever shares its network or its
// files does reach.
//
// Secrets stay where they are: files and variables are compared by a keyed hash.
package breach
