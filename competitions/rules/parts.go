package rules

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// Bounds on reading. Anything beyond them is listed as unread.
const (
	mostText   = 16 << 20 // bytes of files that are not Python
	mostLine   = 1 << 20  // bytes of a line of a record
	mostFields = 100_000  // strings in the arguments of a tool
)

// scripts are the endings of other files of code.
var scripts = []string{".sh", ".bash", ".r", ".jl", ".js", ".ts", ".pl", ".rb", ".go", ".c", ".cc", ".cpp", ".rs", ".java", ".scala", ".lua", ".sql"}

// code reads the folder of code.
func (c *check) code(ctx context.Context) error {
	if c.Code == nil {
		return nil
	}
	sources, skipped, err := pysource.ReadDir(c.Code)
	if err != nil {
		return fmt.Errorf("read code: %w", err)
	}
	c.unread = append(c.unread, lists.Of(skipped, func(s pysource.Skipped) string { return clip("code/" + s.Name + ": " + s.Reason) })...)
	for _, s := range sources {
		c.python(s)
	}
	return fs.WalkDir(c.Code, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if e.Type().IsRegular() && slices.Contains(scripts, strings.ToLower(path.Ext(name))) {
			return c.script(name)
		}
		return nil
	})
}

func (c *check) python(s *pysource.Source) {
	tokens := s.Tokens()
	for _, v := range c.visitors {
		if v.source != nil {
			v.source(s, tokens)
		}
	}
	for i, t := range tokens {
		alone := (i == 0 || tokens[i-1].Kind == pysource.Newline) && (i+1 == len(tokens) || tokens[i+1].Kind == pysource.Newline)
		if t.Kind == pysource.String && !alone { // a string alone is a comment
			c.text(at(s, t.Line), t.Value())
		}
	}
	for _, line := range slices.Sorted(maps.Keys(s.Commands)) {
		c.text(at(s, line), s.Commands[line])
	}
}

// at is the location of a line of a source; the first is 0.
func at(s *pysource.Source, line int) location {
	p := location{file: "code/" + s.Name, line: line + 1}
	if len(s.Cells) > 0 {
		p.in = s.Place(line)
	}
	return p
}

// text shows a text, line by line.
func (c *check) text(p location, text string) {
	for line := range strings.Lines(text) {
		for _, v := range c.visitors {
			if v.text != nil {
				v.text(p, strings.TrimSpace(line))
			}
		}
	}
}

func (c *check) script(name string) error {
	f, err := c.Code.Open(name)
	if err != nil {
		return fmt.Errorf("read code: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(mostText-c.read+1)))
	if err != nil {
		return fmt.Errorf("read code: %w", err)
	}
	if c.read+len(data) > mostText {
		c.unread = append(c.unread, clip("code/"+name+": files that are not Python have more than 16 MiB"))
		data = data[:mostText-c.read]
	}
	c.read += len(data)
	number := 0
	for line := range strings.Lines(strings.ToValidUTF8(string(data), "\uFFFD")) {
		number++
		c.text(location{file: "code/" + name, line: number}, line)
	}
	return nil
}

// conversations reads the transcript.
func (c *check) conversations(ctx context.Context) error {
	if c.Transcript == nil {
		return nil
	}
	for t, err := range c.Transcript.Turns() {
		if err != nil {
			c.unread = append(c.unread, clip("transcript: "+err.Error()))
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		p := location{file: fmt.Sprintf("transcript/%d", t.Sequence)}
		for _, v := range c.visitors {
			if v.turn != nil {
				v.turn(p, t)
			}
		}
		wrote := []string{t.Reply.Text}
		for _, call := range t.Reply.Calls {
			for _, text := range stringsIn(call.Arguments) {
				c.text(p, text)
				wrote = append(wrote, text)
			}
		}
		for _, v := range c.visitors {
			if v.reply != nil {
				v.reply(p, strings.Join(wrote, "\n"))
			}
		}
	}
	return nil
}

// stringsIn are the strings in JSON, or the text itself if it is none.
func stringsIn(text string) (list []string) {
	d := json.NewDecoder(strings.NewReader(text))
	for len(list) < mostFields {
		token, err := d.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return []string{text}
			}
			return list
		}
		if s, ok := token.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// records reads the sandbox's records.
func (c *check) records(context.Context) error {
	return errors.Join(
		eachLine(c, "network_log", c.Network, func(v visitor) func(location, proxy.Conn) { return v.conn }),
		eachLine(c, "validation_log", c.Validation, func(v visitor) func(location, validity.Call) { return v.valid }),
		eachLine(c, "shim_log", c.Shim, func(v visitor) func(location, shim.Record) { return v.shim }),
	)
}

// eachLine decodes the lines of a record for the visitors that want them.
func eachLine[T any](c *check, name string, r io.Reader, visit func(visitor) func(location, T)) error {
	if r == nil {
		return nil
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostLine)
	for n := 1; lines.Scan(); n++ {
		var e T
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.unread = append(c.unread, fmt.Sprintf("%s: line %d is not a record", name, n))
			return nil
		}
		for _, v := range c.visitors {
			if f := visit(v); f != nil {
				f(location{file: name, line: n}, e)
			}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		c.unread = append(c.unread, name+": a line is longer than 1 MiB")
	} else if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// clip makes a text one short line of printable characters.
func clip(text string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(text) {
		if b.Len() >= mostExcerpt {
			b.WriteString(" …")
			break
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteRune('\uFFFD')
		}
	}
	return b.String()
}
