package process

import (
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// MarkerVariable is the one variable that the runtime adds to the command's
// environment. Its value is random and names the run.
const MarkerVariable = "MLEFLOW_TASK"

// SuperviseCommand is the sub-command of the binary that runs Supervise.
const SuperviseCommand = "supervise"

// supervisorVariable is set in the supervisor's own environment, so that a
// program that does not know SuperviseCommand cannot start itself for ever.
const supervisorVariable = "MLEFLOW_SUPERVISOR"

// The supervisor's descriptors besides the command's standard streams.
const (
	orderFD  = 3 // mleflow → supervisor: one order, then cancelByte or nothing
	reportFD = 4 // supervisor → mleflow: one report
)

// cancelByte asks the supervisor to stop the command.
const cancelByte = 'c'

// order is what the supervisor is told to run.
type order struct {
	Command []string `json:"command"`
	// Env is bytes, not texts: values need not be UTF-8, which JSON is.
	Env         [][]byte      `json:"env"`
	Dir         string        `json:"dir"`
	Timeout     time.Duration `json:"timeout"`
	Grace       time.Duration `json:"grace"`
	MemoryBytes int64         `json:"memory_bytes"`
	FileBytes   int64         `json:"file_bytes"`
	Processes   int           `json:"processes"`
	// ReadOnly are what the command may only read, as far as that can be had.
	ReadOnly []string `json:"read_only"`
}

// report is what the supervisor says at the end.
type report struct {
	Exit executor.Exit `json:"exit"`
	// StartError is why the command could not be started.
	StartError string `json:"start_error,omitempty"`
	// Cancelled says that mleflow asked for the end.
	Cancelled bool `json:"cancelled,omitempty"`
	// Stuck is how many processes could not be killed.
	Stuck int `json:"stuck,omitempty"`
}
