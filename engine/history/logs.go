package history

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
)

// The maximum sizes of the two parts of a log.
const (
	logHead = 4 << 20
	logTail = 4 << 20
)

// Log keeps a try's output: the first 4 MiB and at least the last 4 MiB,
// with a line in between that states how much is missing. Two files take turns
// to hold the end until Close appends it to the log, so that it survives if the
// process is killed. Files are created with the first byte. A Log is safe for
// concurrent use.
type Log struct {
	mu         sync.Mutex
	path       string
	head, tail int64 // limits
	out        *os.File
	written    int64 // bytes given to Write
	turn       int   // current one of the two files of the end
	size       int64 // bytes in it
	masker     *secret.Writer
	closed     bool
}

// Log returns the log of a try of an instance, with secrets masked. The
// caller closes it.
func (r *Run) Log(address string, attempt int) *Log {
	return newLog(filepath.Join(r.dir, "logs", logName(address, attempt)), logHead, logTail, r.secrets)
}

func newLog(path string, head, tail int64, secrets *secret.Set) *Log {
	l := &Log{path: path, head: head, tail: tail}
	l.masker = secret.NewWriter(rawLog{l}, secrets)
	return l
}

// logName returns the file name of a try's log. Characters that are
// special to file systems are escaped. A long address is shortened and made
// unique by its hash.
func logName(address string, attempt int) string {
	var b strings.Builder
	for i := range len(address) {
		c := address[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.' && i > 0, c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	name := b.String()
	if len(name) > 200 {
		sum := sha256.Sum256([]byte(address))
		name = fmt.Sprintf("%s~%x", name[:180], sum[:8])
	}
	return name + "." + strconv.Itoa(attempt) + ".log"
}

// Write implements io.Writer. Secrets are masked.
func (l *Log) Write(p []byte) (int, error) { return l.masker.Write(p) }

// rawLog is the part of a Log behind its masker.
type rawLog struct{ *Log }

func (l rawLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	if l.closed {
		return 0, fmt.Errorf("write log: %w", fs.ErrClosed)
	}
	for len(p) > 0 {
		k, err := l.some(p)
		if err != nil {
			return n - len(p), fmt.Errorf("write log: %w", err)
		}
		p = p[k:]
	}
	return n, nil
}

// some writes as much of p as fits in the current file.
func (l *Log) some(p []byte) (int, error) {
	if l.written < l.head {
		p = p[:min(int64(len(p)), l.head-l.written)]
	} else {
		if l.written == l.head || l.size >= l.tail {
			if err := l.rotate(); err != nil {
				return 0, err
			}
		}
		p = p[:min(int64(len(p)), l.tail-l.size)]
	}
	if l.out == nil {
		if err := l.create(l.path); err != nil {
			return 0, err
		}
	}
	k, err := l.out.Write(p)
	l.written += int64(k)
	l.size += int64(k)
	return k, err
}

// rotate switches to the other file of the end. Its first line has the number
// of bytes before it and the size of the log's first part.
func (l *Log) rotate() error {
	l.turn = 1 - l.turn
	if err := l.create(tailPath(l.path, l.turn)); err != nil {
		return err
	}
	l.size = 0
	_, err := fmt.Fprintf(l.out, "%d %d\n", l.written, l.head)
	return err
}

func tailPath(path string, turn int) string { return path + ".end" + strconv.Itoa(turn) }

func (l *Log) create(path string) error {
	l.closeFile()
	f, err := nolink.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		if err = nolink.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			f, err = nolink.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
		}
	}
	l.out = f
	return err
}

func (l *Log) closeFile() {
	if l.out != nil {
		l.out.Close()
		l.out = nil
	}
}

// Close joins the parts into one file.
func (l *Log) Close() error {
	flushed := l.masker.Flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.closeFile()
	err := flushed
	if l.written > l.head {
		err = errors.Join(err, join(l.path))
	}
	if err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

// join appends the end of a log to its beginning. It works on a copy, so that
// the log is readable at any moment.
func join(path string) error {
	whole, err := nolink.CreateTemp(filepath.Dir(path), ".join-")
	if err != nil {
		return err
	}
	defer os.Remove(whole.Name())
	defer whole.Close()
	r, err := openLog(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := io.Copy(whole, r); err != nil {
		return err
	}
	if err := errors.Join(nolink.Chmod(whole, 0o644), whole.Close(), os.Rename(whole.Name(), path)); err != nil {
		return err
	}
	// The parts of the end are removed last. A reader that still finds one can
	// tell from its head that the log already contains it.
	return errors.Join(removeIfThere(tailPath(path, 0)), removeIfThere(tailPath(path, 1)))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Logs returns the numbers of an instance's tries with output, in ascending
// order.
func (p *Past) Logs(address string) []int {
	var out []int
	for n := 1; ; n++ {
		if _, err := os.Stat(p.logPath(address, n)); err == nil {
			out = append(out, n)
		} else if n > 100 {
			return out
		}
	}
}

func (p *Past) logPath(address string, attempt int) string {
	return filepath.Join(p.dir, "logs", logName(address, attempt))
}

// OpenLog opens the log of a try. The error is fs.ErrNotExist if it
// printed nothing.
func (p *Past) OpenLog(address string, attempt int) (io.ReadCloser, error) {
	r, err := openLog(p.logPath(address, attempt))
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", address, err)
	}
	return r, nil
}

// Tail returns the last n lines of an instance's last log, or none if there is
// no output or the log cannot be read.
func (p *Past) Tail(address string, n int) []string {
	attempts := p.Logs(address)
	if len(attempts) == 0 {
		return nil
	}
	r, err := p.OpenLog(address, attempts[len(attempts)-1])
	if err != nil {
		return nil
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, 2*(logHead+logTail)))
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-n):]
}

// part is one of the files of a log's end and begins at offset at. head is the
// size of the log's main file when the part was written. If the file is larger
// now, the end has been appended to it.
type part struct {
	at, head int64
	text     []byte
}

// openLog reads a log of one or more files.
func openLog(path string) (io.ReadCloser, error) {
	f, err := nolink.Open(path)
	if err != nil {
		return nil, err
	}
	for turn := range 2 {
		if p, ok := readPart(path, turn); ok {
			var out bytes.Buffer
			err := (&Follow{path: path, head: p.head}).Copy(&out)
			return io.NopCloser(&out), errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// readPart reads one of the files of the end. An incomplete one is ignored.
func readPart(path string, turn int) (part, bool) {
	b, err := nolink.ReadFile(tailPath(path, turn))
	if err != nil {
		return part{}, false
	}
	line, text, ok := bytes.Cut(b, []byte("\n"))
	p := part{text: text}
	_, err = fmt.Sscanf(string(line), "%d %d", &p.at, &p.head)
	return p, ok && err == nil
}
