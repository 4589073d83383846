// Package containerd is the runtime for agents that must be isolated: each command runs
// in its own container, through the machine's containerd. It is the only user of the
// containerd client.
//
// # What the guest has
//
// The guest has the image's files, read-only; the mounts of the Spec (nosuid, nodev);
// /tmp, /run and /dev/shm in memory, of limited size; and its own processes, host name
// and loopback interface. It runs as an unprivileged user without capabilities, cannot
// gain privileges, and is restricted to the default list of system calls. On the host,
// that user belongs to nobody else, by means of a user namespace if one is possible
// (see users). Folders that the guest may only read are views with inodes of their own.
// Nothing of the host's environment, names or files is passed on.
//
// The only way out is the Spec's services: their listeners are created inside the
// guest's network namespace, and mleflow answers on the host. Network.Open gives the
// guest the host's network instead, including the loopback interface. This package does
// not implement Network.Allow: a proxy is a Service.
//
// # How it runs
//
// The container's first process is a pause of a few bytes (see pausePath) that reaps
// orphans. The command starts next to it. It therefore receives signals as any process
// does, and its environment, with the secrets in it, is never part of the container's
// stored description. When the command has ended, timed out or been cancelled, the
// pause is killed, and the kernel kills all remaining processes at once.
//
// A Spec names its image as the path of an OCI archive or layout, as "NAME@sha256:…" in
// a registry, or as "local:NAME" in containerd's store; see image.Resolve. Devices are
// CDI names such as "nvidia.com/gpu=0".
//
// # Resume
//
// With Spec.Resume, the output goes to a file. A small process below containerd's shim
// writes it (see Log) and also stops the command if nobody else did in time. The
// process that holds a run locks the run's folder below Options.StateDir; the kernel
// releases the lock when the process dies. A later Run with the same ID takes over the
// folder and the container. While no mleflow holds the run, its services do not answer.
// Sweep removes what nobody took over.
//
// # Variables
//
// The environment is the Spec's. If the Spec does not set HOME, it is set from the
// image's /etc/passwd. Values must be valid UTF-8.
package containerd
