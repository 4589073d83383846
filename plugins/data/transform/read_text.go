package transform

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var streamLinesVerb = Verb{
	Name: "stream_lines", Params: []string{"path"},
	Summary: "The lines of a text file in the raw data, read again when they are written.",
	Detail:  "Lines end as in text_lines; lines.line is its column. head, take, omit and splits choose unread; the output text writes them. In another order than the file's they are held in memory.",
	Source:  "open(path)",
	Func: func(in *Input, path string) (_ *Lines, err error) {
		defer reading("stream_lines", path, &err)
		f, err := in.Raw.Open(path)
		if err != nil {
			return nil, err
		}
		return &Lines{file: &textFile{in: in, path: path, count: -1}, chosen: all(math.MaxInt32)}, f.Close()
	},
}

// Lines are lines of a text file.
type Lines struct {
	file   *textFile
	chosen selection // if whole, the first n lines, or as many as there are
}

// textFile is a text file with the number of its lines, -1 as long as nobody
// read it to its end.
type textFile struct {
	in   *Input
	path string

	mu    sync.Mutex
	count int
}

// Len implements Rows.
func (l *Lines) Len() int {
	if !l.chosen.whole() {
		return l.chosen.n
	}
	if n := l.file.known(); n >= 0 {
		return min(n, l.chosen.n)
	}
	n := 0
	_ = l.each(func([]byte, bool) error {
		n++
		return nil
	})
	return n
}

func (f *textFile) known() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

// head returns the first lines without counting them.
func (l *Lines) head(n int) Rows {
	if l.chosen.whole() {
		return &Lines{l.file, all(min(n, l.chosen.n))}
	}
	return l.Take(span(0, min(n, l.Len())))
}

// Take implements Rows.
func (l *Lines) Take(rows []int) Rows { return &Lines{l.file, l.rows().take(rows)} }

// Pick implements Picker.
func (l *Lines) Pick(keep func(position int) bool) Rows { return &Lines{l.file, l.rows().pick(keep)} }

func (l *Lines) rows() selection {
	if l.chosen.whole() {
		return all(l.Len())
	}
	return l.chosen
}

// Column implements Columned; there is one column, line.
func (l *Lines) Column(name string) (*table.Column, error) {
	if name != "line" {
		return nil, &table.NoColumnError{Name: name, Have: []string{"line"}}
	}
	var texts []string
	err := l.each(func(line []byte, _ bool) error {
		texts = append(texts, string(line))
		return nil
	})
	return table.FromTexts(name, texts, nil), err
}

// each visits the lines in their order; ended says that a line has an end in
// the file. The bytes are valid during the call.
func (l *Lines) each(visit func(line []byte, ended bool) error) error {
	if !l.chosen.ordered() {
		return l.eachInAnyOrder(visit)
	}
	left := l.chosen.n
	return l.scan(func(row int, line []byte, ended bool) error {
		switch {
		case left == 0:
			return errStop
		case !l.chosen.has(row):
			return nil
		}
		left--
		return visit(line, ended)
	})
}

// eachInAnyOrder holds the lines that it visits.
func (l *Lines) eachInAnyOrder(visit func(line []byte, ended bool) error) error {
	type text struct {
		line  []byte
		ended bool
	}
	texts := make(map[int]text, l.chosen.n)
	for row := range l.chosen.rows() {
		texts[row] = text{}
	}
	err := l.scan(func(row int, line []byte, ended bool) error {
		if _, ok := texts[row]; ok {
			texts[row] = text{bytes.Clone(line), ended}
		}
		return nil
	})
	for row := range l.chosen.rows() {
		if err != nil {
			return err
		}
		err = visit(texts[row].line, texts[row].ended)
	}
	return err
}

// errStop ends a scan early.
var errStop = errors.New("stop")

// scan reads the file.
func (l *Lines) scan(visit func(row int, line []byte, ended bool) error) (err error) {
	f, err := l.file.in.Raw.Open(l.file.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	ahead := newReadAhead(f)
	defer ahead.Close()
	row := 0
	err = scanLines(ahead, func(line []byte, ended bool) error {
		if row&(1<<16-1) == 0 && l.file.in.Context.Err() != nil {
			return l.file.in.Context.Err()
		}
		row++
		return visit(row-1, line, ended)
	})
	if errors.Is(err, errStop) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: line %d: %w", l.file.path, row+1, err)
	}
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	l.file.count = row
	return nil
}

// maxLine bounds a line.
const maxLine = 1 << 30

// scanLines visits the lines of a UTF-8 text, which end at \n, \r\n and \r as
// in Python's text mode; only the last one may have no end. A line is valid
// during the call and holds at most a gibibyte.
func scanLines(r io.Reader, visit func(line []byte, ended bool) error) error {
	in := bufio.NewReaderSize(r, 1<<20)
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, part...); len(long) > maxLine {
				return fmt.Errorf("longer than %d bytes", maxLine)
			}
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if len(long) > 0 {
			long = append(long, part...)
			part = long
		}
		if err := eachEnded(part, visit); err != nil || len(part) == 0 {
			return err
		}
		long = long[:0]
		if err == io.EOF {
			return nil
		}
	}
}

// eachEnded cuts what ends with \n, or ends the file, at carriage returns.
func eachEnded(part []byte, visit func(line []byte, ended bool) error) error {
	if !utf8.Valid(part) {
		return errors.New("it is not valid UTF-8")
	}
	for len(part) > 0 {
		at := bytes.IndexByte(part, '\r')
		next := at + 1
		switch {
		case at < 0 && part[len(part)-1] == '\n':
			at, next = len(part)-1, len(part)
		case at < 0:
			return visit(part, false)
		case next < len(part) && part[next] == '\n':
			next++
		}
		if err := visit(part[:at], true); err != nil {
			return err
		}
		part = part[next:]
	}
	return nil
}

// WriteLines writes lines, each ended by \n but for the file's last one if it
// has no end there.
func WriteLines(w io.Writer, l *Lines) error {
	out := bufio.NewWriterSize(w, 1<<18)
	err := l.each(func(line []byte, ended bool) error {
		if _, err := out.Write(line); err != nil || !ended {
			return err
		}
		return out.WriteByte('\n')
	})
	return errors.Join(err, out.Flush())
}

var linesVerb = Verb{
	Name: "text_lines", Params: []string{"path", "options"},
	Summary: "The lines of a text file in the raw data, as a column line.",
	Detail:  "As in Python's text mode, \\n, \\r\\n and \\r end lines. With all_ends = true so do, as in str.splitlines, \\v, \\f, U+001C to U+001E, U+0085, U+2028 and U+2029.",
	Source:  "open(path)",
	Func:    readLines,
}

// lineOptions are the options of text_lines.
type lineOptions struct {
	AllEnds bool `verb:"all_ends"`
}

func readLines(in *Input, path string, o *lineOptions) (_ *table.Column, err error) {
	defer reading("text_lines", path, &err)
	data, err := fs.ReadFile(in.Raw, path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not valid UTF-8")
	}
	text := string(data)
	if o.AllEnds {
		text = allEnds.Replace(text)
	}
	var lines []string
	err = scanLines(strings.NewReader(text), func(line []byte, _ bool) error {
		lines = append(lines, string(line))
		return nil
	})
	return table.FromTexts("line", lines, nil), err
}

// allEnds turns the rarer line ends of str.splitlines into \n.
var allEnds = strings.NewReplacer("\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
