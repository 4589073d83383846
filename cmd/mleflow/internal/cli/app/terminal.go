package app

import (
	"io"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// Terminal is where a command reads and writes, and how: the process's streams
// and environment, and the flags for output.
type Terminal struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string

	JSON    bool
	NoColor bool
	Verbose bool

	Interrupts interrupts

	// screen is the live view while one owns the terminal.
	screenMu sync.Mutex
	screen   *view.Live
}
