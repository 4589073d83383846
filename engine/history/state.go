package history

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Memory is the remembered state of an instance.
type Memory struct {
	// Action is the key of its last success.
	Action digest.ActionID
	// Duration is the duration of its last execution, or 0 if unknown.
	Duration time.Duration
}

// Pipeline is the remembered state of a pipeline. It is safe for concurrent
// use. Several processes may open the state of one pipeline. Each sees the
// entries that were written before it opened the state.
type Pipeline struct {
	file stateFile

	mu      sync.Mutex
	byAddr  map[string]Memory
	lastRun string
	lines   int
	buf     []byte
	// out and lock are open after the first write.
	out, lock *os.File
}

// Pipeline reads the state of the pipeline with this absolute path. Nothing is
// written before the first Put.
func (l *Store) Pipeline(path string) (*Pipeline, error) {
	s := &Pipeline{file: l.stateFile(path)}
	text, err := nolink.ReadFile(s.file.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read state of %s: %w", path, err)
	}
	s.parse(string(text))
	return s, nil
}

// stateFile is the file of a pipeline's state. Each line is one of
//
//	run <id>
//	<action> <milliseconds> <length of address> <address>
//
// Later lines win. Incomplete lines are ignored. Every write begins with a
// newline, so that an incomplete line does not damage the next.
type stateFile struct{ path, pipeline string }

func (l *Store) stateFile(pipeline string) stateFile {
	name := strings.TrimSuffix(filepath.Base(pipeline), filepath.Ext(pipeline))
	if len(name) > 100 {
		name = name[:100]
	}
	file := name + "-" + digest.Of([]byte(pipeline)).Short() + ".log"
	return stateFile{filepath.Join(l.dir, "pipelines", file), pipeline}
}

func (s *Pipeline) parse(text string) {
	s.byAddr = make(map[string]Memory, strings.Count(text, "\n"))
	for len(text) > 0 {
		line, rest, whole := strings.Cut(text, "\n")
		text = rest
		if line == "" || !whole {
			continue
		}
		s.lines++
		if id, ok := strings.CutPrefix(line, "run "); ok {
			s.lastRun = id
		} else if address, m, ok := parseMemory(line); ok {
			s.byAddr[address] = m
		}
	}
}

func parseMemory(line string) (address string, m Memory, ok bool) {
	key, line, _ := strings.Cut(line, " ")
	millis, line, _ := strings.Cut(line, " ")
	length, address, ok := strings.Cut(line, " ")
	if n, err := strconv.Atoi(length); !ok || err != nil || n != len(address) {
		return "", m, false
	}
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return "", m, false
	}
	m.Duration = time.Duration(n) * time.Millisecond
	m.Action, err = digest.ParseActionID(key)
	return address, m, err == nil
}

func appendMemory(buf []byte, address string, m Memory) []byte {
	buf = fmt.Appendf(buf, "%s %d %d %s\n", m.Action, m.Duration.Milliseconds(), len(address), address)
	return buf
}

// Last returns the memory of an instance. A nil Pipeline has none.
func (s *Pipeline) Last(address string) (Memory, bool) {
	if s == nil {
		return Memory{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.byAddr[address]
	return m, ok
}

// LastRun returns the ID of the newest run of the pipeline, or "".
func (s *Pipeline) LastRun() string { return s.lastRun }

// Put remembers a success of an instance. A zero duration keeps the remembered
// one. An unchanged entry is not written again. The entry of an executed step
// is written at once.
func (s *Pipeline) Put(address string, m Memory) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.byAddr[address]
	executed := m.Duration > 0
	if !executed {
		m.Duration = old.Duration
	}
	m.Duration = m.Duration.Truncate(time.Millisecond)
	if known && m == old {
		return nil
	}
	if strings.Contains(address, "\n") {
		return fmt.Errorf("remember %q: the address has a line break", address)
	}
	s.byAddr[address] = m
	s.lines++
	s.buf = appendMemory(s.buf, address, m)
	if executed || len(s.buf) > 64<<10 {
		return s.flush()
	}
	return nil
}

// flush appends the buffered lines in one call.
func (s *Pipeline) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	if s.out == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	_, err := s.out.Write(append([]byte{'\n'}, s.buf...))
	s.buf = s.buf[:0]
	return s.file.wrap("write", err)
}

// open opens the file, which is not compacted meanwhile.
func (s *Pipeline) open() error {
	err := nolink.MkdirAll(filepath.Dir(s.file.path), 0o777)
	if err == nil {
		s.lock, err = s.file.openLock()
	}
	if err == nil {
		err = flock.LockShared(s.lock)
	}
	if err == nil { // opened only now, because a compaction replaces the file
		s.out, err = nolink.OpenFile(s.file.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	}
	if err != nil {
		return errors.Join(s.file.wrap("write", err), s.closeFiles())
	}
	return nil
}

func (s *Pipeline) closeFiles() (err error) {
	for _, f := range []*os.File{s.out, s.lock} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	s.out, s.lock = nil, nil
	return s.file.wrap("close", err)
}

// Close writes the buffered entries. It compacts the file if most lines are
// outdated and no other process is writing.
func (s *Pipeline) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.flush()
	if s.out == nil {
		return err
	}
	err = errors.Join(err, s.closeFiles())
	if s.lines > 2*len(s.byAddr)+1000 {
		err = errors.Join(err, s.file.compact())
	}
	return err
}

// compacted returns the content of the file with one line per address.
func compacted(text []byte) []byte {
	s := &Pipeline{}
	s.parse(string(text))
	out := make([]byte, 0, len(text)/2)
	if s.lastRun != "" {
		out = append(out, "run "+s.lastRun+"\n"...)
	}
	for _, address := range slices.Sorted(maps.Keys(s.byAddr)) {
		out = appendMemory(out, address, s.byAddr[address])
	}
	return out
}

// Unfinished returns the newest run of the pipeline if it was interrupted, paused or
// cancelled, or nil.
func (l *Store) Unfinished(s *Pipeline) *Past {
	if s.LastRun() == "" {
		return nil
	}
	p, err := l.open(s.LastRun())
	if err != nil || !slices.Contains([]State{Interrupted, Paused, Cancelled}, p.Entry().State) {
		return nil
	}
	return p
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

// noteRun records the newest run of the pipeline.
func (f stateFile) noteRun(id string) error {
	return (&Pipeline{file: f, buf: []byte("run " + id + "\n")}).Close()
}

// compact replaces the file by a shorter one with the same meaning, unless
// somebody is writing to it.
func (f stateFile) compact() error {
	lock, err := f.openLock()
	if err != nil {
		return f.wrap("compact", err)
	}
	defer lock.Close()
	// Pipelines share the lock. Lines that one of them wrote to the replaced
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
