// Package containerd is the runtime of agents that must be isolated: each
// command runs in a container of its own, by the containerd of the machine.
// It is the only user of the containerd client.
//
// # What the guest has
//
// The image's files, read-only; the mounts of the Spec (nosuid, nodev); /tmp,
// /run and /dev/shm in memory, of limited size; its own processes, host name
// and loopback interface. It runs as an unprivileged user without
// capabilities, cannot gain privileges, and is kept to the default list of
// system calls. On the host that user is one that nobody else has, by a user
// namespace where there can be one (see users), and the folders that it may only read
// are views with inodes of their own. Nothing of the host's environment, names or files is passed on.
// The one way out are the Spec's services: their listeners are made inside the
// guest's network namespace and answered by mleflow on the host.
// Network.Open gives the guest the host's network instead, loopback included;
// Network.Allow is not this package's to grant: a proxy is a Service.
//
// # How it runs
//
// The container's first process is a pause of a few bytes (see pausePath) that
// reaps orphans. The command is started next to it, so that it gets signals as
// any process does, and so that its environment, with the secrets in it, is
// never part of the container's stored description. When the command has ended,
// is out of time or cancelled, the pause is killed, and the kernel kills all
// that is left with it at once.
//
// A Spec names its image as the path of an OCI archive or layout, as
// "NAME@sha256:…" in a registry, or as "local:NAME" in containerd's store; see
// ResolveImage. Devices are CDI names such as "nvidia.com/gpu=0".
//
// # Resume
//
// With Spec.Resume the output goes to a file, kept by a small process below
// containerd's shim (see Log), which also stops the command when nobody else
// did in time. A run's folder below Options.StateDir is locked by the process
// that holds the run; the kernel lets go of the lock when that dies. A later Run
// with the same ID takes over the folder and the container; while mleflow is
// away, services do not answer. Sweep removes what nobody took over.
//
// # Variables
//
// The environment is the Spec's; HOME is set from the image's /etc/passwd
// where the Spec does not set it. Values must be valid UTF-8.
package containerd
