package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/internal/parallel"
)

// Watch reads the journal of a run as it grows.
type Watch struct {
	past *Past
	at   int64
}

// Watch returns a reader of the journal from its beginning.
func (p *Past) Watch() *Watch { return &Watch{past: p} }

// Next returns the events written since the last call. Lines that cannot be
// parsed are skipped.
func (w *Watch) Next() (events []event.Event, err error) {
	var lines [][]byte
	for line, failed := range w.past.lines(&w.at) {
		if err = failed; err == nil {
			lines = append(lines, bytes.Clone(line)) // the reader uses it again
		}
		if len(lines) == decodedAtOnce {
			events, lines = append(events, decoded(lines)...), nil
		}
	}
	return append(events, decoded(lines)...), err
}

// decodedAtOnce is the number of lines that are decoded in parallel.
const decodedAtOnce = 4096

// decoded returns the events of those lines that can be parsed.
func decoded(lines [][]byte) []event.Event {
	out := make([]event.Event, len(lines))
	parallel.For(len(lines), func(i int) {
		if e, err := event.Decode(lines[i]); err == nil {
			out[i] = e
		}
	})
	return slices.DeleteFunc(out, func(e event.Event) bool { return e == nil })
}

// Running reports whether the run is still running.
func (p *Past) Running() bool { return p.Entry().State == Running }

// Follow reads the log of a try as it grows.
type Follow struct {
	path string
	// head is the size of the log's first part. at is the number of bytes of
	// the try's output that were copied or skipped.
	head, at int64
	// seen describes the files of the log's end when they were last read.
	seen [2]fs.FileInfo
}

// Follow returns a reader of a try's log, which need not exist yet.
func (p *Past) Follow(address string, attempt int) *Follow {
	return &Follow{path: p.logPath(address, attempt), head: logHead}
}

// Copy writes the try's output since the last call. Output that was lost
// because it was printed faster than it was read is replaced by a line with its
// size.
func (f *Follow) Copy(w io.Writer) error {
	main, err := nolink.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer main.Close()
	info, err := main.Stat()
	if err != nil {
		return err
	}
	if first := min(info.Size(), f.head); f.at < first {
		n, err := io.Copy(w, io.NewSectionReader(main, f.at, first-f.at))
		f.at += n
		if err != nil {
			return err
		}
	}
	switch {
	case f.at < f.head:
		return nil
	case info.Size() > f.head:
		return f.joined(w, main, info.Size())
	}
	return f.parts(w)
}

// joined copies from a log whose end has been appended.
func (f *Follow) joined(w io.Writer, main *os.File, size int64) error {
	line := make([]byte, 80)
	n, err := main.ReadAt(line, f.head)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var missing int64
	start := f.head
	if _, err := fmt.Sscanf(string(line[:n]), "\n[mleflow: %d bytes are left out here]", &missing); err == nil && missing > 0 {
		start += int64(len(leftOut(missing)))
	} else {
		missing = 0
	}
	return f.piece(w, f.head+missing, io.NewSectionReader(main, start, size-start), size-start)
}

// parts copies from the two files with the end of a log that is being written.
func (f *Follow) parts(w io.Writer) error {
	var list []part
	var seen [2]fs.FileInfo
	for turn := range seen {
		seen[turn], _ = os.Stat(tailPath(f.path, turn))
	}
	if grown := func(turn int) bool {
		a, b := f.seen[turn], seen[turn]
		return b != nil && (a == nil || a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime()))
	}; !grown(0) && !grown(1) {
		return nil
	}
	f.seen = seen
	for turn := range seen {
		p, ok := readPart(f.path, turn)
		if ok && p.head == f.head && startOf(f.path, turn) == p.at { // not restarted in the meantime
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b part) int { return int(a.at - b.at) })
	for _, p := range list {
		if err := f.piece(w, p.at, bytes.NewReader(p.text), int64(len(p.text))); err != nil {
			return err
		}
	}
	return nil
}

// startOf returns the offset of one of the files of the end, or -1 if it cannot
// be read.
func startOf(path string, turn int) int64 {
	f, err := nolink.Open(tailPath(path, turn))
	if err != nil {
		return -1
	}
	defer f.Close()
	at := int64(-1)
	_, _ = fmt.Fscanf(io.LimitReader(f, 64), "%d", &at)
	return at
}

// piece copies the new bytes of a piece that begins at an offset of the output.
func (f *Follow) piece(w io.Writer, at int64, text io.ReadSeeker, size int64) error {
	if at+size <= f.at {
		return nil
	}
	if at > f.at {
		if _, err := io.WriteString(w, leftOut(at-f.at)); err != nil {
			return err
		}
		f.at = at
	}
	if _, err := text.Seek(f.at-at, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(w, text)
	f.at += n
	return err
}

// leftOut returns the line that replaces lost output.
func leftOut(bytes int64) string {
	return fmt.Sprintf("\n[mleflow: %d bytes are left out here]\n", bytes)
}
