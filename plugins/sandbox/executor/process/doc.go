// Package process is the runtime that runs a command as an ordinary process of the same
// user and machine. It needs nothing installed, and it DOES NOT ISOLATE: the command
// can read everything that the user can read, including the answers of a competition
// and the cache. It can reach the network and even kill mleflow. Use it only for code
// you trust, and mention "process runtime" with any result obtained with it.
//
// # Guarantees
//
// Every command has a supervisor to itself: the same binary, started again as "mleflow
// supervise" (see package supervise), which is the child subreaper of all processes
// that the command starts. It may serve another command once nothing is left of the one
// before, so that many short commands do not start a supervisor each.
//
// However often a descendant forks, changes its session or drops its environment, it
// stays below the supervisor in the process tree. The supervisor can therefore kill the
// whole tree, collect its processor time, and know when nothing is left. It keeps
// killing until then, however many processes a storm of forks adds meanwhile. It gives
// up only on processes that were killed and do not die.
//
// The supervisor holds a pipe from mleflow. When mleflow ends in any way, even by kill
// -9, the pipe closes and the supervisor kills the tree. When the supervisor itself is
// killed, the kernel sends SIGKILL to the command, and mleflow hunts the rest by a
// marker in their environment. Only a descendant that has removed the marker and
// outlives the supervisor can escape.
//
// # Limits
//
// Time: SIGTERM to the whole tree, the grace period, then SIGKILL. Memory: the tree's
// resident memory is sampled ten times a second; near the limit, shared pages count
// once. Above the limit, the tree is killed; a fast burst can overshoot the limit. Size
// of one file: RLIMIT_FSIZE. Processes: RLIMIT_NPROC, in addition to the processes that
// the user has at the start. The kernel does not apply it to root. Core dumps are off.
// CPUs, DiskBytes and Network are not enforced.
//
// Read-only mounts: file permissions do not prevent root from writing. For root, the
// mounts are therefore mounted over themselves in the command's own mount namespace, if
// the machine allows it (most containers do not). That prevents mistakes, but not a
// command that unmounts them. For other users nothing is done: permissions hold until
// the command changes those of its own user's files.
//
// The environment is the Spec's, MarkerVariable, and variables for devices. Services
// listen on free ports of the host's loopback interface, where every process of the
// machine can reach them. CUDA_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES tell the
// vendors' libraries about Spec.Devices; nothing restricts a command to them.
// Spec.Resume and Spec.Sandbox are ignored.
package process
