package prep

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/table"
)

var filesOutput = outputKind{
	name: "files", attrs: []string{"from", "each", "missing"}, required: 2,
	doc: "One file for each row of each, copied byte for byte. The destination and from are paths with column names in braces: " +
		"files \"train/{id}.jpg\" { from = \"images/{id}.jpg\"  each = local.train }. A destination that two rows name is copied once and must come from one file. " +
		"A file that is not there is an error unless missing = \"skip\".",
	write: writeFiles,
}

var copyOutput = outputKind{
	name: "copy", attrs: []string{"from", "each", "except", "missing"}, required: 1,
	doc: "A file or a whole folder of the raw data, copied byte for byte, empty folders included. from may be \".\" for all. " +
		"except lists patterns of names that are left out. With each, one for each row, with column names in braces as in files.",
	write: writeCopy,
}

// copyTask is a set of copies that share a destination and a source template.
type copyTask struct {
	r      *runner
	it     *item
	except []string
	skip   bool
	tree   bool
}

func writeFiles(r *runner, it *item) hcl.Diagnostics { return copyRows(r, it, false) }

func writeCopy(r *runner, it *item) hcl.Diagnostics {
	if it.block.Body.Attributes["each"] != nil {
		return copyRows(r, it, true)
	}
	in := r.read(it)
	task := copyTask{r: r, it: it, tree: true}
	var from string
	in.text("from", &from)
	in.read("except", intoLines(&task.except))
	task.readMissing(in)
	if in.failed() {
		return in.diags
	}
	if from != "." {
		if err := checkPath(from); err != nil {
			in.fail("from", "Wrong source", err)
			return in.diags
		}
	}
	group, ctx := errgroup.WithContext(r.ctx)
	group.SetLimit(r.copiers)
	r.progress.start(it.dest, -1)
	err := task.one(ctx, group, it.dest, from)
	if waitErr := group.Wait(); waitErr != nil {
		err = waitErr
	}
	return task.done(err)
}

func (c *copyTask) readMissing(in *reader) {
	missing := "error"
	in.text("missing", &missing)
	if c.skip = missing == "skip"; missing != "skip" && missing != "error" {
		in.fail("missing", "Wrong value for missing", fmt.Errorf("write \"error\" or \"skip\""))
	}
}

func (c *copyTask) done(err error) hcl.Diagnostics {
	if err != nil {
		return hcl.Diagnostics{diag.Error(c.it.block.DefRange(), "Cannot copy files", "%v.", err)}
	}
	c.r.progress.finish(c.it.dest)
	return nil
}

func copyRows(r *runner, it *item, tree bool) hcl.Diagnostics {
	in := r.read(it)
	task := copyTask{r: r, it: it, tree: tree}
	var from string
	in.text("from", &from)
	each := in.table("each")
	in.read("except", intoLines(&task.except))
	task.readMissing(in)
	if in.failed() {
		return in.diags
	}
	source, err := compilePath(from, each)
	if err != nil {
		in.fail("from", "Wrong path", err)
	}
	dest, err := compilePath(it.dest, each)
	if err != nil {
		in.diags = append(in.diags, diag.Error(it.block.LabelRanges[0], "Wrong path", "%v.", err))
	}
	if in.failed() {
		return in.diags
	}
	r.progress.start(it.dest, each.Len())
	return task.done(task.rows(each, dest, source))
}

// rows copies a file or folder for each row. Rows that name the same
// destination must name the same source and are copied once.
func (c *copyTask) rows(each *table.Table, dest, source *pathTemplate) error {
	group, ctx := errgroup.WithContext(c.r.ctx)
	group.SetLimit(c.r.copiers)
	first := make(map[string]int32, each.Len())
	for i := range each.Len() {
		if ctx.Err() != nil {
			break
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
		if err := c.one(ctx, group, to, from); err != nil {
			return err
		}
	}
	return group.Wait()
}

// one schedules the copy of a file, or of a folder where trees are allowed.
func (c *copyTask) one(ctx context.Context, group *errgroup.Group, to, from string) error {
	if c.tree {
		info, err := fs.Stat(c.r.raw, from)
		if err == nil && info.IsDir() {
			return c.folder(ctx, group, to, from)
		}
	}
	group.Go(func() error {
		err := c.r.sink.Copy(ctx, to, Source{FS: c.r.raw, Name: from})
		if err != nil && c.skip && isMissing(c.r.raw, from) {
			return nil
		}
		c.r.progress.step(c.it.dest)
		return err
	})
	return nil
}

func isMissing(raw fs.FS, name string) bool {
	_, err := fs.Stat(raw, name)
	return err != nil
}

func (c *copyTask) folder(ctx context.Context, group *errgroup.Group, to, from string) error {
	if err := c.r.sink.Folder(ctx, to); err != nil {
		return err
	}
	entries, err := fs.ReadDir(c.r.raw, from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.ContainsFunc(c.except, func(pattern string) bool { return matches(pattern, e.Name()) }) {
			continue
		}
		next, target := path.Join(from, e.Name()), strings.TrimPrefix(path.Join(to, e.Name()), "./")
		if e.IsDir() {
			err = c.folder(ctx, group, target, next)
		} else {
			err = c.one(ctx, group, target, next)
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
