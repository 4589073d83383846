package supervise

import "time"

// Command is the argument with which a program starts itself as a supervisor.
const Command = "supervise"

// Variable is set in the supervisor's own environment, so that nobody starts a
// supervisor just by using Command.
const Variable = "MLEFLOW_SUPERVISOR"

// FD is the supervisor's descriptor of a stream socket. mleflow sends orders, one after
// another, and each is answered with a report. When the connection ends, the supervisor
// and its command end.
const FD = 3

// The first byte of a message from mleflow.
const (
	// OrderByte comes with the descriptors of the command's standard streams and
	// precedes the order.
	OrderByte = 'o'
	// CancelByte asks the supervisor to stop the command.
	CancelByte = 'c'
)

// Order tells the supervisor what to run.
type Order struct {
	// Path is the program; Command is its name and arguments.
	Path    string
	Command []string
	// Env is the complete environment, as NAME=VALUE.
	Env         []string
	Dir         string
	Timeout     time.Duration
	Grace       time.Duration
	MemoryBytes int64
	FileBytes   int64
	Processes   int
	// ReadOnly are the paths that the command may only read, as far as this can be
	// enforced.
	ReadOnly []string
}

// Reason is the way in which a command ended, with the values of executor.Reason.
type Reason string

// The reasons that a supervisor can detect.
const (
	Exited      Reason = "exited"
	Signalled   Reason = "signalled"
	TimedOut    Reason = "timed_out"
	OutOfMemory Reason = "out_of_memory"
)

// Report is the supervisor's report on a command that ended. See executor.Exit for the
// fields without a comment.
type Report struct {
	Reason          Reason
	Code, Signal    int
	Wall, CPU       time.Duration
	PeakMemoryBytes int64
	Leftover        int
	// StartError is the reason why the command could not be started.
	StartError string
	// Cancelled means that mleflow asked for the end.
	Cancelled bool
	// Stuck is the number of processes that could not be killed.
	Stuck int
}
