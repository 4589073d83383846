package index

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

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
	// Copy is the path of the copy of the log; "" for none. Its folder exists.
	Copy string
	// Size is the size of the log after the last change by any process that knows this
	// word; 0 if there was none.
	Size *atomic.Int64
	// Lost is 1 after an earlier version of mleflow found the log missing and began a new
	// one, until Rebuild.
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
	// odd says that the log or the copy is not a file.
	odd  error
	copy twin
	// known is the value of Changes when the summary was last updated.
	known int64
	// opened is set when the log has been read for the first time.
	opened bool
	summary
}

// summary is the result of reading all frames of the log.
type summary struct {
	scanned int // offset up to which the summary reaches
	torn    int // bytes before it that writers left which did not finish
	bad     int // bytes before it that belong to no frame otherwise
	entries map[digest.ActionID]Entry
	tombs   map[digest.ActionID]cache.Tombstone
	// live is the size of the frames that still matter.
	live int64
	// drops is the number of drops seen.
	drops int64
}

// Open opens the index and reads its log. A damaged log is opened, too: see Damage.
func Open(cfg Config) (*Index, error) {
	ix := &Index{Config: cfg}
	err := ix.update()
	if err == nil && cfg.Hold != nil && len(ix.copy.bytes()) != len(ix.log.bytes()) {
		err = ix.Hold(ix.updateBoth)
	}
	if err != nil {
		return nil, fmt.Errorf("open index: %w", errors.Join(err, ix.Close()))
	}
	ix.opened = true
	return ix, nil
}

// Close closes the log. The index must not be used afterwards.
func (ix *Index) Close() error {
	err := errors.Join(ix.log.close(), ix.copy.close())
	ix.log, ix.copy = nil, twin{}
	return err
}

// reload reads the log from its beginning. It needs mu.
func (ix *Index) reload() error {
	// The copy comes first: what is in it then is in a log that is whole.
	_ = ix.copy.close()
	copied, errCopy := openView(ix.Copy, ix.Hold == nil)
	ix.copy = twin{logView: copied}
	if errors.Is(errCopy, fs.ErrPermission) {
		errCopy = nil // another user's, such as root's: it is replaced if this one may do that
	}
	log, err := openView(ix.Path, ix.Hold == nil)
	if err = cmp.Or(err, errCopy); errors.Is(err, nolink.ErrForeign) {
		ix.odd, err = err, nil
	} else if ix.odd = nil; err != nil {
		return errors.Join(err, log.close())
	}
	if line, _, _ := strings.Cut(string(log.bytes()[:min(64, len(log.bytes()))]), "\n"); strings.HasPrefix(line, logHeader[:len(logHeader)-2]) && line+"\n" != logHeader {
		return errors.Join(fmt.Errorf("%s: unknown format %q: use the version of mleflow that wrote it", ix.Path, line), log.close())
	}
	_ = ix.log.close()
	ix.log, ix.summary = log, summaryOf(nil)
	ix.scan()
	return nil
}

// summaryOf reads a log.
func summaryOf(data []byte) summary {
	s := summary{entries: make(map[digest.ActionID]Entry), tombs: make(map[digest.ActionID]cache.Tombstone), live: int64(len(logHeader))}
	s.read(data)
	return s
}

// read reads what was added to a log.
func (s *summary) read(data []byte) {
	if s.scanned == 0 && bytes.HasPrefix(data, []byte(logHeader)) {
		s.scanned = len(logHeader)
	}
	scanFrames(data, s.scanned, func(f frame, at, n int) {
		s.skip(data[s.scanned:at])
		s.apply(f, at, n)
		s.scanned = at + n
	})
}

// begun reports whether nothing in a log is damaged before its last frame. Nothing can be
// said of an empty one.
func (s *summary) begun() bool { return s.bad == 0 && s.scanned > 0 }

// valid returns how many bytes of a log are not damaged.
func (s *summary) valid(log []byte) int64 {
	end := s.scanned
	if torn(log[end:]) {
		end = len(log)
	}
	return int64(end - s.bad)
}

// skip counts the bytes between two frames. A line feed alone is the end of a line that
// was complete except for it.
func (s *summary) skip(b []byte) {
	switch {
	case len(bytes.Trim(b, "\n")) == 0:
	case torn(b):
		s.torn += len(b)
	default:
		s.bad += len(b)
	}
}

// gaps returns the number of bytes of frames that were not written whole, and that of
// other bytes that belong to no frame. It needs mu for reading.
func (ix *Index) gaps() (unfinished, bad int) {
	s := summary{torn: ix.torn, bad: ix.bad}
	s.skip(ix.log.bytes()[ix.scanned:])
	return s.torn, s.bad
}

// scan updates the summary to the end of the view. It needs mu.
func (ix *Index) scan() {
	drops := ix.drops
	ix.read(ix.log.bytes())
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
	return ix.update()
}

// update reads what is new in the log.
func (ix *Index) update() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.catchUp()
}

// fresh refreshes, and calls a function that may read the summary.
func (ix *Index) fresh(read func()) error {
	if err := ix.Refresh(); err != nil {
		return err
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	read()
	return nil
}

// catchUp reads the new end of the log, or the whole log if it was replaced. It
// needs mu.
func (ix *Index) catchUp() error {
	changes := ix.Changes.Load()
	same, err := ix.log.follow(ix.Path)
	switch {
	case err != nil:
	case same:
		ix.scan()
	default:
		err = ix.reload()
	}
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	ix.known = changes
	return nil
}

// locked calls fn while no other process changes the log and the summary is
// up to date, unless the log is damaged.
func (ix *Index) locked(fn func() error) error {
	return ix.Hold(func() error {
		if err := cmp.Or(ix.update(), ix.Look()); err != nil {
			return err
		}
		return fn()
	})
}

// append adds lines to the log with one write. It needs the lock, by locked.
func (ix *Index) append(lines []byte) error {
	if size, _ := ix.sizes(); size == 0 { // none yet
		if err := cmp.Or(ix.replace([]byte(logHeader)), ix.update()); err != nil {
			return err
		}
	}
	// A writer that died may have left a line without an end. It is ended here, or
	// it would swallow our first line.
	if size, scanned := ix.sizes(); size > scanned {
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
	return ix.updateBoth()
}

// sizes returns how long the log is and how much of it was read. Others read on without
// the lock.
func (ix *Index) sizes() (size, scanned int) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return len(ix.log.bytes()), ix.scanned
}

// updateBoth reads what is new in the log, and copies it unless it is damaged. It needs the
// lock, by locked.
func (ix *Index) updateBoth() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	err := ix.catchUp()
	if err == nil && ix.damage() == "" {
		ix.mirror()
	}
	return err
}

// replace writes a whole new log, durably and all or nothing.
func (ix *Index) replace(data []byte) error { return nolink.WriteFile(ix.Path, data, 0o644, true) }

// logView is the bytes of the index log. They are mapped into memory, so that a
// large log takes no memory until it is read.
type logView struct {
	file *os.File
	info fs.FileInfo // of the file, which it identifies as long as that is open
	data []byte      // data[:size] may be read
	size int64
}

// openView opens the log at path. The view is nil if there is no log.
func openView(path string, readOnly bool) (*logView, error) {
	flags := os.O_RDWR | os.O_APPEND
	if readOnly {
		flags = os.O_RDONLY
	}
	f, err := nolink.OpenFile(path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &logView{file: f}
	return v, v.grow()
}

// follow reports whether path still names the viewed file, and makes appended bytes
// visible then.
func (v *logView) follow(path string) (same bool, err error) {
	if v == nil {
		return false, nil
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !os.SameFile(v.info, named) {
		return false, err
	}
	return true, v.show(named.Size())
}

// grow makes appended bytes visible.
func (v *logView) grow() (err error) {
	if v.info, err = v.file.Stat(); err != nil {
		return err
	}
	return v.show(v.info.Size())
}

// show makes the first size bytes visible. The file never shrinks.
func (v *logView) show(size int64) error {
	if size < v.size {
		return damaged(fmt.Sprintf("%s shrank from %d to %d bytes; another program must have written to it", v.file.Name(), v.size, size))
	}
	if size > int64(len(v.data)) {
		if err := v.remap(size); err != nil {
			return err
		}
	}
	v.size = size
	return nil
}

// remap makes at least size bytes addressable. The mapping is larger than the
// file, so that it rarely has to be replaced. The part after the end of the
// file is not touched before the file has grown there.
func (v *logView) remap(size int64) error {
	space := max(2*size, 1<<20)
	data, err := unix.Mmap(int(v.file.Fd()), 0, int(space), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map %s: %w", v.file.Name(), err)
	}
	v.unmap()
	v.data = data
	return nil
}

func (v *logView) unmap() {
	if v.data != nil {
		_ = unix.Munmap(v.data)
	}
	v.data = nil
}

// bytes returns the visible bytes.
func (v *logView) bytes() []byte {
	if v == nil {
		return nil
	}
	return v.data[:v.size]
}

func (v *logView) close() error {
	if v == nil {
		return nil
	}
	v.unmap()
	v.size = 0
	return v.file.Close()
}
