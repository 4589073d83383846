package cli

import (
	"io"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// terminal is where a command reads and writes, and how: the process's streams
// and environment, and the flags for output.
type terminal struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	environ []string

	json    bool
	noColor bool
	verbose bool

	interrupts interrupts

	// screen is the live view while one owns the terminal.
	screenMu sync.Mutex
	screen   *view.Live
}
