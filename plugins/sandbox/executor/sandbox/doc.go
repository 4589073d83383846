// Package sandbox is the runtime that isolates agents for any user: without root,
// without a daemon, without another program. It is for laptops, shared servers, nodes
// of a cluster and pods.
//
// # What the guest has
//
// What it has in the containerd runtime: the image's files, read-only; the mounts of
// the Spec (nosuid, nodev); /tmp, /run and /dev/shm in memory, of limited size; its
// own processes, host name and loopback interface; an unprivileged user without
// capabilities that cannot gain privileges; containerd's list of system calls; masked
// /proc and /sys. Where the kernel has it, Landlock keeps it from signalling and
// tracing the first process. The one way out are the Spec's services.
//
// # How it runs
//
// mleflow starts itself again as the first process (see Init) in user, mount, process,
// network, IPC, UTS and control group namespaces. That makes the guest's world from
// inside: it opens what is to be mounted, mounts the image below a layer in memory
// (or, where users may mount no overlay, its entries one by one), moves there, mounts
// the rest and leaves the host's files. It makes the services' listeners and passes
// them out to mleflow, which answers on the host. One of its threads gives up
// everything that the command must not have and starts it. The first process reaps
// orphans, keeps the limits, and when it ends, the kernel ends whatever else is in its
// process namespace.
//
// A user has one ID on the host, and the guest's 1000 is that. Root gives each run an
// ID that nobody else has; root itself is then root inside, where only the first
// process is it.
//
// # Limits
//
// Memory, processes and processor time are limited by a control group of version 2
// where this user may make one below its own; else memory by a watcher that adds up
// what processes and files in memory hold and kills the largest process, processes by
// RLIMIT_NPROC in the user namespace, processors by giving each run some of its own.
// Exit.Enforced tells which. DiskBytes is the size of /tmp; mounts are not limited.
//
// # Images
//
// An image is unpacked once, into a folder by its digest, checked layer by layer, and
// shared by all that run it; a lock keeps it from Sweep. All its files belong to the
// user who unpacked it. Devices in it are left out.
//
// # Resume
//
// With Spec.Resume the first process goes on when its owner dies: it writes the output
// to a file, keeps the limits and the listeners, and writes down the end. It listens on
// a socket in the run's folder, at which the next owner comes in. A run's folder is
// locked by the process that holds the run.
//
// # Variables
//
// The environment is the Spec's; HOME is set from the image's /etc/passwd where the
// Spec does not set it.
package sandbox
