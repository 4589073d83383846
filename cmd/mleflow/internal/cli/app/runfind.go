package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/history"
)

// FindRun opens the run that the first argument names, or the latest.
func (s *Store) FindRun(args []string) (*history.Past, error) {
	l, err := s.OpenHistory()
	if err != nil {
		return nil, err
	}
	ref := "latest"
	if len(args) > 0 {
		ref = args[0]
	}
	past, err := l.Find(ref)
	if errors.Is(err, history.ErrNoRun) {
		return nil, Usagef("%w; mleflow runs lists them", err)
	}
	return past, err
}

// OwnRun returns a run whose pipeline or command may be executed. Of another user's it
// says why not and what to do instead.
func OwnRun(past *history.Past, instead string) (*history.Past, error) {
	own, err := past.Own()
	if errors.Is(err, history.ErrForeign) {
		return nil, Usagef("run %s %w; its steps would have your rights and secrets: %s", past.Info.ID, err, instead)
	}
	return own, err
}

// NamesFile reports whether an argument names a file and not a run or a folder.
func NamesFile(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist) && (filepath.Base(arg) != arg || filepath.Ext(arg) != "")
}

// AttemptsOf counts the attempts of a run that have a result by how they were isolated.
func AttemptsOf(sum *history.Summary) (t conditions.Tally) {
	for _, s := range sum.Steps {
		if s.Status.Succeeded() {
			t.Add(s.Kind, s.Conditions)
		}
	}
	return t
}

// Tail returns the last lines of a step's log in a run; none if that run or its
// log is gone.
func (s *Store) Tail(run, address string, n int) []string {
	l, err := s.OpenHistory()
	if err != nil {
		return nil
	}
	past, err := l.Find(run)
	if err != nil {
		return nil
	}
	return past.Tail(address, n)
}
