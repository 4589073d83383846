package prep

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var filesOutput = outputKind{
	name: "files", attrs: []string{"each", "from", "missing"}, required: 1,
	doc:   `A file for each row of each, byte for byte. The destination and from are paths with column names in braces: files "train/{id}.jpg" { from = "images/{id}.jpg"  each = train }. from defaults to the destination. Rows with one destination must have one source, copied once. A missing file is an error unless missing = "skip".`,
	write: writeCopies(false),
}

var copyOutput = outputKind{
	name: "copy", attrs: []string{"from", "each", "except", "missing"}, whole: true,
	doc:   `A file or folder of the raw data, byte for byte, with empty folders. from defaults to the destination; "." is all raw data, or as the destination the folder itself. except lists patterns of names to leave out. each gives a copy for each row, as in files.`,
	write: writeCopies(true),
}

// copyTask is a set of copies that share a destination and a source template.
type copyTask struct {
	r      *runner
	it     *item
	except []string
	skip   bool
	tree   bool
	// expected files are known to come, -1 if it is unknown, and made were made.
	expected int
	made     atomic.Int64
}

// writeCopies returns what writes the copies of an output: of rows, or one where trees are
// allowed and no rows are given.
func writeCopies(tree bool) func(*runner, *item) hcl.Diagnostics {
	return func(r *runner, it *item) hcl.Diagnostics {
		in := r.read(it)
		task := copyTask{r: r, it: it, tree: tree, expected: -1}
		from := it.label
		assign(in, "from", &from)
		each := in.table("each")
		in.read("except", intoLines(&task.except))
		task.readMissing(in)
		if in.failed() {
			return in.diags
		}
		if it.block.Body.Attributes["each"] == nil {
			return task.single(in, from)
		}
		return task.rows(in, each, from)
	}
}

// single copies one file or folder.
func (c *copyTask) single(in *reader, from string) hcl.Diagnostics {
	if err := checkPath(from); err != nil && from != "." {
		in.fail("from", "Wrong source", err)
		return in.diags
	}
	group := newCopies(c.r.ctx, c.r.copiers)
	return c.done(group.wait(c.one(group, c.it.dest, from)))
}

// rows copies a file or folder for each row. Rows that name the same
// destination must name the same source and are copied once.
func (c *copyTask) rows(in *reader, each *table.Table, from string) hcl.Diagnostics {
	source, err := compilePath(from, each)
	if err != nil {
		in.fail("from", "Wrong path", err)
	}
	dest, err := compilePath(c.it.dest, each)
	if err != nil {
		in.diags = append(in.diags, diag.Error(c.it.block.LabelRanges[0], "Wrong path", "%v.", err))
	}
	if in.failed() {
		return in.diags
	}
	if !c.tree {
		c.expected = each.Len()
		c.r.counts.expect(each.Len())
	}
	group := newCopies(c.r.ctx, c.r.copiers)
	return c.done(group.wait(c.begin(group, each, dest, source)))
}

// copies are copies under way. Of several that fail, the one that began first
// is reported, whatever order they end in.
type copies struct {
	ctx   context.Context
	alone bool // copies are made by who begins them
	group errgroup.Group
	begun int

	mu     sync.Mutex
	failed int // which of those that failed began first
	err    error
}

// newCopies allows limit copies at once. One alone is made by who begins it, so
// that nothing else happens to its sink meanwhile.
func newCopies(ctx context.Context, limit int) *copies {
	c := &copies{ctx: ctx, alone: limit == 1}
	c.group.SetLimit(limit)
	return c
}

// stopped reports whether the run, or a copy that began before n, has failed.
func (c *copies) stopped(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil && c.failed < n || c.ctx.Err() != nil
}

// begin starts a copy, once fewer than the limit are under way.
func (c *copies) begin(do func() error) {
	n := c.begun
	c.begun++
	task := func() error {
		if c.stopped(n) {
			return nil
		}
		err := do()
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil && (c.err == nil || n < c.failed) {
			c.failed, c.err = n, err
		}
		return nil
	}
	if c.alone {
		_ = task()
	} else {
		c.group.Go(task)
	}
}

// wait returns the first failure, or next, for which no copy was begun.
func (c *copies) wait(next error) error {
	_ = c.group.Wait()
	return cmp.Or(c.err, next, c.ctx.Err())
}

func (c *copyTask) readMissing(in *reader) {
	missing := "error"
	assign(in, "missing", &missing)
	if c.skip = missing == "skip"; missing != "skip" && missing != "error" {
		in.fail("missing", "Wrong value for missing", fmt.Errorf("write \"error\" or \"skip\""))
	}
}

func (c *copyTask) done(err error) hcl.Diagnostics {
	if err != nil {
		return wrong(c.it.block.DefRange(), "Cannot copy files", "%v.", err)
	}
	if made := int(c.made.Load()); c.expected < 0 {
		c.r.counts.expect(made)
	} else { // rows may have named the same file
		c.r.counts.total.Add(int64(made - c.expected))
	}
	return nil
}

// begin schedules the copies of all rows.
func (c *copyTask) begin(group *copies, each *table.Table, dest, source *pathTemplate) error {
	first := make(map[string]int32, each.Len())
	for i := range each.Len() {
		if group.stopped(group.begun) {
			return nil
		}
		to, err := dest.row(i)
		if err != nil {
			return err
		}
		from, err := source.row(i)
		if err != nil {
			return err
		}
		if j, ok := first[to]; ok {
			if other, _ := source.row(int(j)); other != from {
				return fmt.Errorf("%s would be both %s (row %d) and %s (row %d)", to, other, j, from, i)
			}
			continue
		}
		first[to] = int32(i)
		if err := c.one(group, to, from); err != nil {
			return err
		}
	}
	return nil
}

// one schedules the copy of a file, or of a folder where trees are allowed.
func (c *copyTask) one(group *copies, to, from string) error {
	if c.tree {
		info, err := fs.Stat(c.r.raw, from)
		if err == nil && info.IsDir() {
			return c.folder(group, to, from)
		}
	}
	group.begin(func() error {
		err := c.r.sink.Copy(group.ctx, to, Source{FS: c.r.raw, Name: from, Copied: &c.r.counts.bytes})
		if err != nil && c.skip {
			if _, missing := fs.Stat(c.r.raw, from); missing != nil {
				return nil
			}
		}
		if err == nil {
			c.made.Add(1)
			c.r.counts.files.Add(1)
		}
		return err
	})
	return nil
}

func (c *copyTask) folder(group *copies, to, from string) error {
	if to != "." { // not the archive itself
		if err := c.r.sink.Folder(group.ctx, to); err != nil {
			return err
		}
	}
	entries, err := fs.ReadDir(c.r.raw, from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.ContainsFunc(c.except, func(pattern string) bool { return matches(pattern, e.Name()) }) {
			continue
		}
		next, target := path.Join(from, e.Name()), path.Join(to, e.Name())
		if e.IsDir() {
			err = c.folder(group, target, next)
		} else {
			err = c.one(group, target, next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// pathTemplate is a path with column names in braces, compiled against the
// columns of a table.
type pathTemplate struct {
	source string
	texts  []string
	cols   []*table.Column
}

// compilePath compiles a template such as "images/{id}.jpg". A brace is
// written twice to stand for itself.
func compilePath(source string, t *table.Table) (*pathTemplate, error) {
	p := &pathTemplate{source: source}
	text := ""
	for rest := source; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text += rest[:1]
			rest = rest[2:]
		case rest[0] == '}':
			return nil, fmt.Errorf("path %q has a closing brace without an opening one", source)
		case rest[0] == '{':
			name, after, ok := strings.Cut(rest[1:], "}")
			if !ok {
				return nil, fmt.Errorf("path %q has an opening brace without a closing one", source)
			}
			c, err := t.Column(name)
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", source, err)
			}
			p.texts, p.cols = append(p.texts, text), append(p.cols, c)
			text, rest = "", after
		default:
			text += rest[:1]
			rest = rest[1:]
		}
	}
	p.texts = append(p.texts, text)
	return p, nil
}

// row returns the path of row i. It must stay inside its folder.
func (p *pathTemplate) row(i int) (string, error) {
	n := 0
	for _, s := range p.texts {
		n += len(s) + 16
	}
	buf := make([]byte, 0, n)
	for k, c := range p.cols {
		if c.IsMissing(i) {
			return "", fmt.Errorf("path %q: column %q is missing in row %d", p.source, c.Name(), i)
		}
		buf = append(append(buf, p.texts[k]...), c.Text(i)...)
	}
	out := string(append(buf, p.texts[len(p.texts)-1]...))
	return out, checkPath(out)
}

// checkPath refuses a path that is not clean and relative.
func checkPath(p string) error {
	if p == "" || p == "." || path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%q is not a path inside the folder", p)
	}
	return nil
}
