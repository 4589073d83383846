package index

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Entry is the part of a record that the index keeps in memory.
type Entry struct {
	At   int64 // offset of the record's frame in the log
	Used int64 // last use in Unix milliseconds, as far as it is remembered
	n    int32 // length of the frame
}

// Placed is an action with the entry of its record.
type Placed struct {
	ID digest.ActionID
	Entry
}

// Config connects an index with its cache.
type Config struct {
	// Path is the path of the log, which need not exist.
	Path string
	// Hold calls a function while no other process or goroutine changes the log. It
	// is nil if the log is only read.
	Hold func(func() error) error
	// Changes counts the changes of the log by all processes.
	Changes *atomic.Int64
	// Lost is 1 from the moment when the log was found missing and a new one was
	// started until Restart.
	Lost *atomic.Int64
	// OnDrop is called when dropped records were seen in the log after Open.
	OnDrop func()
	// Now, Write and At are the clock, the write of a log and the points at which a
	// test may simulate a crash.
	Now   func() time.Time
	Write func(f *os.File, p []byte) (int, error)
	At    func(point string)
}

// Index is the log of records and its summary in memory. It is safe for
// concurrent use.
type Index struct {
	Config

	// mu guards the fields below. It is taken after the lock that Hold takes.
	mu  sync.RWMutex
	log *logView
	// known is the value of Changes when the summary was last updated.
	known int64
	// opened is set when the log has been read for the first time.
	opened bool
	summary
}

// summary is the result of reading all frames of the log.
type summary struct {
	scanned int // offset up to which the summary reaches
	bad     int // bytes before it that belong to no frame
	entries map[digest.ActionID]Entry
	tombs   map[digest.ActionID]cache.Tombstone
	// live is the size of the frames that still matter.
	live int64
	// drops is the number of drops seen.
	drops int64
}

// Open opens the index and reads its log.
func Open(cfg Config) (*Index, error) {
	ix := &Index{Config: cfg, known: cfg.Changes.Load()}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.reload(); err != nil {
		return nil, errors.Join(fmt.Errorf("open index: %w", err), ix.log.close())
	}
	ix.opened = true
	return ix, nil
}

// Close closes the log. The index must not be used afterwards.
func (ix *Index) Close() error {
	err := ix.log.close()
	ix.log = nil
	return err
}

// reload reads the log from its beginning. It needs mu.
func (ix *Index) reload() error {
	log, err := openView(ix.Path, ix.Hold == nil)
	if err != nil {
		return err
	}
	if log != nil && log.size >= int64(len(logHeader)) && string(log.data[:len(logHeader)]) != logHeader {
		line, _, _ := strings.Cut(string(log.data[:min(log.size, 64)]), "\n")
		return errors.Join(fmt.Errorf("%s: unknown format %q", ix.Path, line), log.close())
	}
	_ = ix.log.close()
	ix.log = log
	ix.summary = summary{
		scanned: len(logHeader), live: int64(len(logHeader)),
		entries: make(map[digest.ActionID]Entry), tombs: make(map[digest.ActionID]cache.Tombstone),
	}
	ix.scan()
	return nil
}

// scan updates the summary to the end of the view. It needs mu.
func (ix *Index) scan() {
	data := ix.log.bytes()
	if len(data) <= ix.scanned {
		return
	}
	drops := ix.drops
	end, bad := scanFrames(data, ix.scanned, ix.apply)
	ix.scanned = end
	ix.bad += bad
	if ix.drops != drops && ix.opened {
		ix.OnDrop()
	}
}

// apply adds one frame to the summary.
func (s *summary) apply(f frame, at, n int) {
	switch f.kind {
	case frameRecord:
		if old, ok := s.entries[f.id]; ok {
			s.live -= int64(old.n)
		}
		s.entries[f.id] = Entry{At: int64(at), Used: f.millis, n: int32(n)}
		delete(s.tombs, f.id)
		s.live += int64(n)
	case frameDrop:
		if old, ok := s.entries[f.id]; ok {
			s.live -= int64(old.n)
			delete(s.entries, f.id)
		}
		s.tombs[f.id] = cache.Tombstone{Action: f.id, EvictedUnixMilli: f.millis, Reason: string(f.payload)}
		s.drops++
	case frameUses:
		for p := f.payload; len(p) >= digest.Size; p = p[digest.Size:] {
			id := digest.ActionID(p[:digest.Size])
			if e, ok := s.entries[id]; ok && e.Used < f.millis {
				e.Used = f.millis
				s.entries[id] = e
			}
		}
	}
}

// Refresh reads the frames that other processes appended. It is cheap if there are
// none.
func (ix *Index) Refresh() error {
	changes := ix.Changes.Load()
	ix.mu.RLock()
	known := ix.known
	ix.mu.RUnlock()
	if changes == known {
		return nil
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// catchUp reads the new end of the log, or the whole log if it was replaced. It
// needs mu.
func (ix *Index) catchUp() error {
	changes := ix.Changes.Load()
	same, err := ix.log.current(ix.Path)
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	if !same {
		err = ix.reload()
	} else if err = ix.log.grow(); err == nil {
		ix.scan()
	}
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	ix.known = changes
	return nil
}

// locked calls fn while no other process changes the log and the summary is
// up to date.
func (ix *Index) locked(fn func() error) error {
	return ix.Hold(func() error {
		ix.mu.Lock()
		err := ix.catchUp()
		ix.mu.Unlock()
		if err != nil {
			return err
		}
		return fn()
	})
}

// append adds lines to the log with one write. It needs the lock, by locked.
func (ix *Index) append(lines []byte) error {
	if len(ix.log.bytes()) < len(logHeader) { // none yet, or it was removed
		if ix.lost() {
			ix.Lost.Store(1)
		}
		if err := ix.create(); err != nil {
			return err
		}
	}
	// A writer that died may have left a line without an end. It is ended here, or
	// it would swallow our first line.
	if data := ix.log.bytes(); len(data) > ix.scanned {
		lines = append([]byte{'\n'}, lines...)
	}
	ix.At("append")
	// A single write, so that a process that dies leaves at most one line without
	// an end.
	if _, err := ix.Write(ix.log.file, lines); err != nil {
		return err
	}
	ix.At("appended")
	ix.Changes.Add(1)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// replace writes a whole new log, durably and all or nothing.
func (ix *Index) replace(data []byte) error { return nolink.WriteFile(ix.Path, data, 0o644, true) }

// create makes an empty log. It needs the lock, by locked.
func (ix *Index) create() error {
	if err := ix.replace([]byte(logHeader)); err != nil {
		return err
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}
