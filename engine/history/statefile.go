package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/internal/flock"
)

// appender appends to a state file. The file is not compacted while an appender
// is open.
type appender struct {
	file stateFile
	lock *os.File
	out  *os.File
}

func (f stateFile) appender() (*appender, error) {
	a := &appender{file: f}
	err := os.MkdirAll(filepath.Dir(f.path), 0o777)
	if err == nil {
		a.lock, err = f.openLock()
	}
	if err == nil {
		err = flock.LockShared(a.lock)
	}
	if err == nil { // opened only now, because a compaction replaces the file
		a.out, err = nolink.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	}
	if err != nil {
		return nil, errors.Join(f.wrap("write", err), a.close())
	}
	return a, nil
}

func (f stateFile) openLock() (*os.File, error) {
	return nolink.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o666)
}

func (f stateFile) wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s state of %s: %w", verb, f.pipeline, err)
}

// write appends complete lines in one call.
func (a *appender) write(lines []byte) error {
	_, err := a.out.Write(append([]byte{'\n'}, lines...))
	return a.file.wrap("write", err)
}

func (a *appender) close() error {
	var err error
	if a.out != nil {
		err = a.out.Close()
	}
	if a.lock != nil {
		err = errors.Join(err, a.lock.Close())
	}
	return a.file.wrap("close", err)
}

// noteRun records the newest run of the pipeline.
func (f stateFile) noteRun(id string) error {
	a, err := f.appender()
	if err != nil {
		return err
	}
	return errors.Join(a.write([]byte("run "+id+"\n")), a.close())
}

// compact replaces the file by a shorter one with the same meaning, unless
// somebody is writing to it.
func (f stateFile) compact() error {
	lock, err := f.openLock()
	if err != nil {
		return f.wrap("compact", err)
	}
	defer lock.Close()
	// Appenders share the lock. Lines that one of them wrote to the replaced
	// file would be lost.
	if free, err := flock.Try(lock); !free || err != nil {
		return f.wrap("compact", err)
	}
	text, err := nolink.ReadFile(f.path)
	if err != nil {
		return f.wrap("compact", err)
	}
	return f.wrap("compact", nolink.WriteFile(f.path, compacted(text), 0o644, true))
}
