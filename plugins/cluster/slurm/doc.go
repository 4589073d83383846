// Package slurm runs workers as batch jobs of Slurm. It calls sbatch, squeue,
// scancel, scontrol and sinfo as the user who runs mleflow, on a machine that has
// them, such as a login node.
//
// # State
//
// Slurm forgets a job soon after it ended, so each job has files in
// Config.Folder, which the controller and all nodes must see:
//
//	NAME.json  the job; its existence says that nobody has removed it yet
//	NAME.log   the output of its workers
//	NAME.exit  the exit status of the last worker
//	NAME.stop  exists if the job was cancelled
//	NAME.next-SHAPE  lets a job that runs take over this one, which waits
//	NAME.taken       the same file, once one did
//	NAME.revived-N   a controller asked for another start after N restarts
//
// Everything else comes from Slurm: one squeue for all jobs, every few seconds.
//
// # Failures
//
// A job is submitted with --requeue, so Slurm starts it again after a lost node or
// a preemption, and the batch script asks for the same when its worker failed. A
// node daemon that died may leave its worker running beside the restarted one: the
// claim decides which of the two goes on.
//
// A job that waits for a reason that never passes is Pending and Final; see never. What the
// number of jobs refuses is cluster.ErrLater.
//
// Two controllers that submit one job at the same moment get two jobs of one
// name; --dependency=singleton makes the second wait for the first.
//
// # Further jobs
//
// Starting a job costs Slurm about a second, so a job whose worker is done goes on
// with a waiting job of the same shape: it takes the file NAME.next-SHAPE by renaming
// it, gives itself that job's name in Slurm, and runs its worker. The singleton
// dependency keeps the waiting job of that name from starting meanwhile. Its place in
// the queue is given up only when its worker is done: should this one be lost, Slurm
// starts the waiting job itself.
//
// # Placement
//
// Jobs that read the same content are first limited to the node that
// cluster.Rank prefers; one that still waits after Config.Sticky may run on any
// node.
package slurm
