package history

import (
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/nolink"
)

// detachedLog is the file of a run with what its process printed in the background.
const detachedLog = "apply.log"

// NewLog creates a file for what a process prints that will begin a run. Past.KeepLog
// moves it to the run.
func (l *Store) NewLog() (*os.File, error) {
	if err := nolink.MkdirAll(l.runs(), 0o777); err != nil {
		return nil, err
	}
	return nolink.CreateTemp(l.runs(), ".detached-")
}

// KeepLog moves a file of NewLog, which may be open, to the folder of the run.
func (p *Past) KeepLog(path string) error { return os.Rename(path, filepath.Join(p.dir, detachedLog)) }

// DetachedLog is the path of what the run's process printed in the background; "" if it
// did not run there.
func (p *Past) DetachedLog() string {
	path := filepath.Join(p.dir, detachedLog)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}
