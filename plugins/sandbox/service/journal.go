package service

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mleflow/mleflow/cache/nolink"
)

// Journal is a file of JSON lines with a limited size. It outlives the process: when
// opened again, it continues at its end. It may be used by several goroutines.
type Journal struct {
	// filter is applied to each line before it is written.
	filter func([]byte) []byte

	mu      sync.Mutex
	file    *os.File
	left    int64
	lines   int
	dropped int
}

// OpenJournal opens the journal at path, which grows to at most limit bytes; entries
// beyond that are only counted. filter, if not nil, changes each line before it is
// written, for example to mask secrets.
func OpenJournal(path string, limit int64, filter func([]byte) []byte) (*Journal, error) {
	f, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{filter: filter, file: f, left: limit}
	if err := j.count(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return j, nil
}

// count counts the existing lines. It terminates a line that the end of an earlier
// process cut off.
func (j *Journal) count() error {
	buf := make([]byte, 64<<10)
	last := byte('\n')
	for {
		n, err := j.file.Read(buf)
		for _, c := range buf[:n] {
			if c == '\n' {
				j.lines++
			}
		}
		if n > 0 {
			last = buf[n-1]
		}
		j.left -= int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if last == '\n' {
		return nil
	}
	j.lines++
	_, err := j.file.Write([]byte("\n"))
	return err
}

// Add writes an entry as one line. An entry that cannot be written is dropped and
// counted, so that the agent's work does not stop.
func (j *Journal) Add(entry any) {
	line, err := json.Marshal(entry)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines++
	if err == nil && j.filter != nil {
		line = j.filter(line)
	}
	if err != nil || int64(len(line))+1 > j.left {
		j.dropped++
		return
	}
	n, err := j.file.Write(append(line, '\n'))
	j.left -= int64(n)
	if err != nil {
		j.dropped++
	}
}

// Lines is the number of entries, including the dropped ones.
func (j *Journal) Lines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines
}

// Dropped is the number of entries that were not written.
func (j *Journal) Dropped() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
