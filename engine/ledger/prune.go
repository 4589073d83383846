package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/internal/flock"
)

// retention says which runs to keep. A run is kept if any of its rules says
// so; running ones always are.
type retention struct {
	// Newest is how many runs of each pipeline to keep.
	Newest int
	// Since keeps what began at that time or later; zero keeps nothing.
	Since time.Time
	// Keep keeps the runs it returns true for; it may be nil.
	Keep func(Entry) bool
}

// prune removes the runs that are not kept, and what killed processes left
// behind. It returns the ids of the removed runs, newest first.
func (l *Ledger) prune(r retention) ([]string, error) {
	entries, err := l.List()
	if err != nil {
		return nil, fmt.Errorf("prune runs: %w", err)
	}
	seen := map[string]int{}
	var removed []string
	for _, e := range entries {
		seen[e.Pipeline]++
		if e.State == Running || e.State == Unreadable || seen[e.Pipeline] <= r.Newest || r.keeps(e) {
			continue
		}
		gone := filepath.Join(l.runs(), ".gone-"+e.ID)
		if err := os.Rename(filepath.Join(l.runs(), e.ID), gone); err != nil {
			return removed, fmt.Errorf("prune runs: %w", err)
		}
		removed = append(removed, e.ID)
	}
	if err := l.sweep(); err != nil {
		return removed, fmt.Errorf("prune runs: %w", err)
	}
	return removed, nil
}

func (r retention) keeps(e Entry) bool {
	return !r.Since.IsZero() && !e.Started.Before(r.Since) || r.Keep != nil && r.Keep(e)
}

// sweep removes folders that were being removed, and those of runs that were
// killed before they had begun.
func (l *Ledger) sweep() error {
	found, err := os.ReadDir(l.runs())
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	var errs []error
	for _, f := range found {
		dir := filepath.Join(l.runs(), f.Name())
		if strings.HasPrefix(f.Name(), ".gone-") || strings.HasPrefix(f.Name(), ".new-") && abandoned(dir) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// abandoned reports whether nobody is at work on a run's folder. One that has
// no lock yet is left alone for an hour.
func abandoned(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		info, err := os.Stat(dir)
		return err == nil && time.Since(info.ModTime()) > time.Hour
	}
	defer f.Close()
	free, err := flock.TryShared(f)
	if info, statErr := f.Stat(); statErr != nil || time.Since(info.ModTime()) < time.Minute {
		return false
	}
	return free && err == nil
}
