package supervise

import "time"

// Command is the argument with which a program starts itself as a supervisor.
const Command = "supervise"

// Variable is set in the supervisor's own environment, so that nobody becomes
// one by naming Command.
const Variable = "MLEFLOW_SUPERVISOR"

// FD is the supervisor's descriptor of a stream socket. From mleflow come orders,
// one after another; each is answered by a report. The end of the connection ends
// the supervisor and its command.
const FD = 3

// What mleflow sends begins with a byte.
const (
	// OrderByte comes with the descriptors of the command's standard streams, before
	// the order itself.
	OrderByte = 'o'
	// CancelByte asks the supervisor to stop the command.
	CancelByte = 'c'
)

// Order is what the supervisor is told to run.
type Order struct {
	// Path is the program, Command its name and arguments.
	Path    string
	Command []string
	// Env is all of the environment, as name=value.
	Env         []string
	Dir         string
	Timeout     time.Duration
	Grace       time.Duration
	MemoryBytes int64
	FileBytes   int64
	Processes   int
	// ReadOnly are what the command may only read, as far as that can be had.
	ReadOnly []string
}

// Reason is how a command ended, in the words of executor.Reason.
type Reason string

// The ways that a supervisor sees.
const (
	Exited      Reason = "exited"
	Signalled   Reason = "signalled"
	TimedOut    Reason = "timed_out"
	OutOfMemory Reason = "out_of_memory"
)

// Report is what the supervisor says at the end. What is not said here is said in
// executor.Exit.
type Report struct {
	Reason          Reason
	Code, Signal    int
	Wall, CPU       time.Duration
	PeakMemoryBytes int64
	Leftover        int
	// StartError is why the command could not be started.
	StartError string
	// Cancelled says that mleflow asked for the end.
	Cancelled bool
	// Stuck is how many processes could not be killed.
	Stuck int
}
