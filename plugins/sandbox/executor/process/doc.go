// Package process is the runtime that runs a command as an ordinary process of
// the same user and machine. It needs nothing installed, and it DOES NOT
// ISOLATE: the command can read whatever the user can read, the answers of a
// competition and the cache included, reach the network, and even kill
// mleflow. Use it for code you trust, and say "process runtime" beside any
// result obtained with it.
//
// # What holds
//
// Every command has a supervisor to itself: the same binary started again as
// "mleflow supervise" (see package supervise), which is the child subreaper of all that
// the command starts. It may serve another command once nothing is left of the one
// before, so that many short commands do not start a supervisor each. However often a descendant forks, changes its session or
// drops its environment, it stays below the supervisor in the process tree, so
// that the supervisor can kill all of it, collect its processor time, and know
// when nothing is left. It kills until then, however many new ones a storm of
// forks makes meanwhile, and gives up only processes that were killed and do not
// die.
//
// The supervisor holds a pipe from mleflow. When mleflow ends in any way, kill
// -9 included, the pipe closes and the supervisor kills the tree. When the
// supervisor itself is killed, the command gets SIGKILL from the kernel, and
// mleflow hunts the rest by a marker in their environment; a descendant that
// has removed the marker and outlives the supervisor is the one thing that can
// escape.
//
// # Limits
//
// Time: SIGTERM to the whole tree, the grace, then SIGKILL. Memory: the tree's
// resident memory is sampled ten times a second, counting shared pages once
// when it matters, and the tree is killed above the limit; a faster burst can
// overshoot it. Size of one file: RLIMIT_FSIZE. Processes: RLIMIT_NPROC, above
// those that the user has at the start, unless the user is root, whom the kernel
// does not hold to it. Core dumps are off. CPUs, DiskBytes and Network are not
// enforced.
//
// Mounts that are read-only: for root, whom the permissions of files do not keep
// from writing, they are mounted over themselves in a mount namespace of the
// command's own, where the machine lets it (containers mostly do not). It keeps
// from mistakes, not from a command that unmounts them. For other users nothing is
// done; permissions hold until the command changes those of its own user's files.
//
// The environment is the Spec's, MarkerVariable, and variables for devices. Services listen on free
// ports of the host's loopback interface, where every process of the machine
// reaches them. Spec.Devices are told to the vendors' libraries, by
// CUDA_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES; nothing keeps a command to them.
// Spec.Resume and Spec.Sandbox are ignored.
package process
