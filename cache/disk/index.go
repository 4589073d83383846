package disk

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// entry is what the index keeps in memory about a record.
type entry struct {
	at   int64 // of the frame in the log
	used int64 // last use in Unix milliseconds, as far as it is remembered
	n    int32 // length of the frame
}

// index is the log of records and its summary in memory.
type index struct {
	path     string
	state    *state
	readOnly bool
	hooks    *hooks

	// The order is appendMu, lock, mu. appendMu is needed because flock does not
	// exclude goroutines that share an open file.
	appendMu sync.Mutex
	lock     *os.File

	// mu guards what follows.
	mu  sync.RWMutex
	log *logView
	// changes is the counter of the shared state at the time when the summary was
	// last updated.
	changes int64
	// onDrop is called when the summary has seen dropped records.
	onDrop func()
	summary
}

// summary is the result of reading all frames of the log.
type summary struct {
	scanned int // offset up to which the summary reaches
	bad     int // bytes before it that belong to no frame
	entries map[digest.ActionID]entry
	tombs   map[digest.ActionID]cache.Tombstone
	// live is the size of the frames that still matter.
	live int64
	// drops is the number of drops seen.
	drops int64
}

func (c *records) openIndex() (*index, error) {
	ix := &index{path: c.path(indexName, "log"), state: c.state, readOnly: c.readOnly, hooks: &c.hooks}
	if !c.readOnly {
		var err error
		if ix.lock, err = c.openLock("index"); err != nil {
			return nil, err
		}
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.changes = ix.state.changes.Load()
	if err := ix.reload(); err != nil {
		return nil, errors.Join(fmt.Errorf("open index: %w", err), ix.close())
	}
	ix.onDrop = c.objects.forgetShards
	return ix, nil
}

func (ix *index) close() error {
	err := ix.log.close()
	ix.log = nil
	if ix.lock != nil {
		err = errors.Join(err, ix.lock.Close())
	}
	return err
}

// reload reads the log from its beginning. It needs mu.
func (ix *index) reload() error {
	log, err := openView(ix.path, ix.readOnly)
	if err != nil {
		return err
	}
	if log != nil && log.size >= int64(len(logHeader)) && string(log.data[:len(logHeader)]) != logHeader {
		return errors.Join(fmt.Errorf("%s: unknown format %q", ix.path, firstLine(log.bytes())), log.close())
	}
	_ = ix.log.close()
	ix.log = log
	ix.summary = summary{
		scanned: len(logHeader), live: int64(len(logHeader)),
		entries: make(map[digest.ActionID]entry), tombs: make(map[digest.ActionID]cache.Tombstone),
	}
	ix.scan()
	return nil
}

// scan updates the summary to the end of the view. It needs mu.
func (ix *index) scan() {
	data := ix.log.bytes()
	if len(data) <= ix.scanned {
		return
	}
	drops := ix.drops
	end, bad := scanFrames(data, ix.scanned, ix.apply)
	ix.scanned = end
	ix.bad += bad
	if ix.drops != drops && ix.onDrop != nil {
		ix.onDrop()
	}
}

// apply adds one frame to the summary.
func (s *summary) apply(f frame, at, n int) {
	switch f.kind {
	case frameRecord:
		if old, ok := s.entries[f.id]; ok {
			s.live -= int64(old.n)
		}
		s.entries[f.id] = entry{at: int64(at), used: f.millis, n: int32(n)}
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
			if e, ok := s.entries[id]; ok && e.used < f.millis {
				e.used = f.millis
				s.entries[id] = e
			}
		}
	}
}

// refresh reads what other processes appended. It is cheap if they did not.
func (ix *index) refresh() error {
	changes := ix.state.changes.Load()
	ix.mu.RLock()
	known := ix.changes
	ix.mu.RUnlock()
	if changes == known {
		return nil
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// catchUp reads what is new in the log, or the whole log if it was replaced. It
// needs mu.
func (ix *index) catchUp() error {
	changes := ix.state.changes.Load()
	same, err := ix.log.current(ix.path)
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
	ix.changes = changes
	return nil
}

// locked calls fn while no other process changes the log and the summary is
// up to date.
func (ix *index) locked(fn func() error) error {
	ix.appendMu.Lock()
	defer ix.appendMu.Unlock()
	if err := flock(ix.lock, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock index: %w", err)
	}
	defer func() { _ = flock(ix.lock, unix.LOCK_UN) }()
	ix.mu.Lock()
	err := ix.catchUp()
	ix.mu.Unlock()
	if err != nil {
		return err
	}
	return fn()
}

// append adds lines to the log with one write. It needs the lock, by locked.
func (ix *index) append(lines []byte) error {
	if len(ix.log.bytes()) < len(logHeader) { // none yet, or it was removed
		if ix.lost() {
			ix.state.lost.Store(1)
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
	ix.hooks.at("append")
	// A single write, so that a process that dies leaves at most one line without
	// an end.
	if _, err := ix.hooks.write(ix.log.file, lines); err != nil {
		return err
	}
	ix.hooks.at("appended")
	ix.state.changes.Add(1)
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// create makes an empty log. It needs the lock, by locked.
func (ix *index) create() error {
	if err := writeFileAtomic(ix.path, []byte(logHeader)); err != nil {
		return err
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// payload returns the payload of e's frame in the log. It needs mu for reading;
// the result is valid only while mu is held.
func (ix *index) payload(e entry) ([]byte, error) {
	data := ix.log.bytes()
	if e.at+int64(e.n) > int64(len(data)) {
		return nil, errPayload
	}
	return data[e.at+framePayloadAt : e.at+int64(e.n)-1], nil
}

// record decodes the record of an action, and reports false if there is none.
// It needs mu for reading.
func (ix *index) record(id digest.ActionID) (*cache.Record, bool, error) {
	e, ok := ix.entries[id]
	if !ok {
		return nil, false, nil
	}
	payload, err := ix.payload(e)
	if err != nil {
		return nil, false, err
	}
	rec, err := decodeRecord(id, payload)
	return rec, err == nil, err
}
