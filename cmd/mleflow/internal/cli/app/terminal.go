package app

import (
	"io"
	"os"
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

// Show writes the result of a command: as JSON, or with text for people.
func (t *Terminal) Show(result any, text func()) error {
	if t.JSON {
		return WriteJSON(t.Stdout, result)
	}
	text()
	return nil
}

// Table writes a table for people. Standard output remembers what could not be written.
func (t *Terminal) Table(table *view.Table) { _ = table.Write(t.Stdout, t.OutStyle()) }

// IsFolder reports whether there is a folder at a path.
func IsFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
