package judge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Attempt holds the parts of an attempt that are read. A nil part is missing.
type Attempt struct {
	Code, Logs fs.FS
	Transcript *transcript.Reader
}

// part is a text with a place.
type part struct {
	name, text string
	// from is where in the text something is missing; 0 is nowhere. Lines after it
	// have no numbers.
	from int
	// shown is the part of the text that the model gets.
	shown string
}

func (p part) size() int { return len(p.text) }

// Material is the part of an attempt that is shown to a model.
type Material struct {
	parts []part
	// Omitted lists the parts that are left out, one line each.
	Omitted []string
	// Bytes is the number of shown bytes.
	Bytes int
}

// Bounds on reading.
const (
	mostFile  = 1 << 20 // bytes of one file or exchange
	mostRead  = 64 << 20
	mostFiles = 10_000
	// leastShown is the least of a part that is worth showing.
	leastShown = 100
)

// shares are the parts in a hundred of code, logs and conversations, if each has
// more than its share.
var shares = []int{50, 20, 30}

// Gather chooses at most limit bytes of an attempt. Small parts are whole; of others the
// beginning and the end are shown. The error is that of a store or ctx.
func Gather(ctx context.Context, a Attempt, limit int) (*Material, error) {
	m := &Material{}
	left := mostRead
	var groups [][]part
	for _, read := range []func() ([]part, error){
		func() ([]part, error) { return m.files(ctx, a.Code, "code", &left) },
		func() ([]part, error) { return m.files(ctx, a.Logs, "logs", &left) },
		func() ([]part, error) { return m.turns(ctx, a.Transcript, &left) },
	} {
		parts, err := read()
		if err != nil {
			return nil, err
		}
		groups = append(groups, parts)
	}
	for i, n := range divide(limit, groups) {
		m.show(groups[i], n)
	}
	return m, nil
}

// divide gives each group its share and the unused part of a share to the others,
// in order.
func divide(limit int, groups [][]part) []int {
	given, spare := make([]int, len(groups)), limit
	sizes := make([]int, len(groups))
	for i, g := range groups {
		sizes[i] = lists.Sum(g, part.size)
		given[i] = min(sizes[i], limit*shares[i]/100)
		spare -= given[i]
	}
	for i := range groups {
		more := min(sizes[i]-given[i], spare)
		given[i], spare = given[i]+more, spare-more
	}
	return given
}

// show takes n bytes of the parts of a group: the same of each, but of small ones no
// more than they have.
func (m *Material) show(parts []part, n int) {
	total := lists.Sum(parts, part.size)
	if most := n / leastShown; total > n && len(parts) > most {
		m.omit("%d of %d parts from %s on", len(parts)-most, len(parts), parts[most].name)
		parts = parts[:most]
	}
	order := slices.Clone(parts)
	slices.SortStableFunc(order, func(a, b part) int { return cmp.Compare(len(a.text), len(b.text)) })
	each := 0
	for i, p := range order {
		each = n / (len(order) - i)
		if len(p.text) > each {
			break
		}
		n -= len(p.text)
		each = len(p.text)
	}
	for _, p := range parts {
		p.shown = middle(p.text, each)
		if len(p.shown) < len(p.text) {
			m.omit("%s: %d of %d bytes", p.name, len(p.text)-len(p.shown), len(p.text))
		}
		m.Bytes += len(p.shown)
		m.parts = append(m.parts, p)
	}
}

// mostOmitted bounds the lines of Omitted.
const mostOmitted = 100

func (m *Material) omit(format string, args ...any) {
	if len(m.Omitted) < mostOmitted {
		m.Omitted = append(m.Omitted, plain(fmt.Sprintf(format, args...)))
	}
}

// leftOut stands for the text left out of the middle of a part.
const leftOut = "\n[…]\n"

// middle leaves out the middle of a text that is too long, at whole characters.
func middle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n = max(0, n-len(leftOut))
	head, tail := n*2/3, len(text)-n/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + leftOut + text[tail:]
}

// files reads the files of a folder that are text, code first.
func (m *Material) files(ctx context.Context, dir fs.FS, prefix string, left *int) (parts []part, err error) {
	if dir == nil {
		return nil, nil
	}
	var names []string
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if d.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", prefix, err)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(kind(a), kind(b)) })
	if len(names) > mostFiles {
		m.omit("%d files of %s", len(names)-mostFiles, prefix)
		names = names[:mostFiles]
	}
	for _, name := range names {
		text, from, why, err := text(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", prefix, err)
		}
		if why == "" && *left < len(text) {
			why = "there is too much to read"
		}
		if why != "" {
			m.omit("%s/%s: %s", prefix, name, why)
			continue
		}
		*left -= len(text)
		if strings.TrimSpace(text) != "" {
			parts = append(parts, part{name: prefix + "/" + plain(name), text: text, from: from})
		}
	}
	return parts, nil
}

// kind orders files: code, then readable files, then likely data.
func kind(name string) int {
	switch strings.ToLower(path.Ext(name)) {
	case ".py", ".ipynb", ".sh", ".r", ".jl", ".js", ".ts", ".c", ".cpp", ".rs", ".go":
		return 0
	case ".csv", ".tsv", ".json", ".jsonl", ".xml":
		return 2
	}
	return 1
}

// text reads a file, or the beginning and the end of a large one, between which
// something is missing at from; why is not empty if it is no text.
func text(dir fs.FS, name string) (text string, from int, why string, err error) {
	if pysource.IsCode(name) {
		s, err := pysource.ReadFile(dir, name)
		if err != nil {
			return "", 0, err.Error(), nil
		}
		return clean(strings.Join(s.Lines, "\n")), 0, "", nil
	}
	f, err := dir.Open(name)
	if err != nil {
		return "", 0, "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err != nil {
		return "", 0, "", err
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return "", 0, "it is a binary file", nil
	}
	if len(data) <= mostFile {
		return clean(string(data)), 0, "", nil
	}
	head := clean(string(data[:mostFile/2]))
	s, ok := f.(io.Seeker)
	if !ok {
		return head + leftOut, len(head), "", nil
	}
	if _, err := s.Seek(-mostFile/2, io.SeekEnd); err != nil {
		return "", 0, "", err
	}
	data, err = io.ReadAll(io.LimitReader(f, mostFile/2))
	return head + leftOut + clean(string(data)), len(head), "", err
}

// clean makes a text valid, of lines.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
}

// plain is a text of one line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return '\ufffd'
		}
		return r
	}, text)
}

// turns reads the model's messages and the results of its tools.
func (m *Material) turns(ctx context.Context, r *transcript.Reader, left *int) (parts []part, err error) {
	if r == nil {
		return nil, nil
	}
	for t, err := range r.Turns() {
		if err != nil {
			m.omit("transcript: %v", err)
			return parts, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text := clean(said(t))
		if text = text[:min(len(text), mostFile, *left)]; strings.TrimSpace(text) != "" {
			*left -= len(text)
			parts = append(parts, part{name: fmt.Sprintf("transcript/%d", t.Sequence), text: strings.ToValidUTF8(text, "\ufffd")})
		}
	}
	return parts, nil
}

func said(t *transcript.Turn) string {
	var lines []string
	for _, m := range t.Said {
		for _, r := range m.Results {
			lines = append(lines, "[tool returned] "+r.Text)
		}
	}
	if t.Reply.Text != "" {
		lines = append(lines, "[model] "+t.Reply.Text)
	}
	for _, c := range t.Reply.Calls {
		lines = append(lines, "[model calls "+plain(c.Name)+"] "+c.Arguments)
	}
	return strings.Join(lines, "\n")
}
