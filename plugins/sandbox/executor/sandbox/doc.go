// Package sandbox is the runtime that isolates agents for any user: without root,
// without a daemon, without another program. It is for laptops, shared servers, nodes
// of a cluster and pods.
//
// # What the guest has
//
// The guest has the same as in the containerd runtime: the image's files, read-only;
// the mounts of the Spec (nosuid, nodev); /tmp, /run and /dev/shm in memory, of limited
// size; its own processes, host name and loopback interface; an unprivileged user
// without capabilities that cannot gain privileges; containerd's list of system calls;
// masked /proc and /sys. If the kernel supports it, Landlock prevents the guest from
// signalling and tracing the first process. The Spec's services are the only way out.
//
// # How it runs
//
// mleflow starts a launcher, which starts the first process (see package first) in user,
// mount, process, network, IPC, UTS and cgroup namespaces, as mleflow's child. Both are the
// small program (see package small). Without it, mleflow starts itself again as the first
// process. The first process builds the guest's world
// from inside. It opens the sources of the mounts. It mounts the image below a layer in
// memory or, if users may not mount overlays, the image's entries one by one. It then
// moves there, mounts the rest and leaves the host's files. It creates the services'
// listeners and passes them out to mleflow, which answers on the host. One of its
// threads drops all privileges that the command must not have, and starts the command.
// The first process reaps orphans and enforces the limits. When it ends, the kernel
// kills all other processes in its process namespace.
//
// An ordinary user has one ID on the host, and the guest's 1000 is mapped to it. Root
// gives each run an ID that belongs to nobody else. Root itself is then root inside,
// where only the first process runs as root.
//
// # Limits
//
// Memory, processes and processor time are limited by a cgroup of version 2 if this
// user can create one below its own. Otherwise a watcher limits memory: it adds up the
// memory of processes and the files in memory, and kills the largest process.
// RLIMIT_NPROC in the user namespace limits processes, and each run gets its own
// processors. Exit.Enforced names the mechanism. DiskBytes is the size of /tmp; mounts
// are not limited.
//
// # Images
//
// An image is unpacked once, into a folder named by its digest. Each layer is verified.
// All runs of the image share the folder, and a lock protects it from Sweep. All its
// files belong to the user who unpacked it. Devices in it are left out.
//
// # Resume
//
// With Spec.Resume, the first process continues when its owner dies: it writes the
// output to a file, keeps the limits and the listeners, and records the end. It listens
// on a socket in the run's folder, through which the next owner connects. The process
// that holds a run locks the run's folder.
//
// # Variables
//
// The environment is the Spec's. If the Spec does not set HOME, it is set from the
// image's /etc/passwd.
package sandbox
