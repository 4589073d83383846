package mask

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
)

// Draw writes a small split of the prepared files of a definition: the rows and
// files of n ids of the answers, drawn by a seed, and of as large a part of the
// other ids. Rows and files without an id stay. o.Salt is not used.
//
// A competition that cannot be masked cannot be drawn from either, nor can one
// whose rows belong together by another column than the id.
func Draw(ctx context.Context, def *competitions.Definition, n int, seed uint64, o Options) error {
	if err := draw(ctx, def, n, seed, o); err != nil {
		return fmt.Errorf("draw from %s: %w", def.ID, err)
	}
	return nil
}

func draw(ctx context.Context, def *competitions.Definition, n int, seed uint64, o Options) error {
	answers, ok := strings.CutPrefix(def.Layout.Answers, "private/")
	rule := ruleOf(def)
	switch {
	case n < 1:
		return fmt.Errorf("%d ids are none", n)
	case def.Mask.Refused != "":
		return fmt.Errorf("rows cannot be told apart by their ids: %s", def.Mask.Refused)
	case def.Mask.Order != "" && def.Mask.Order != def.IDColumn():
		return fmt.Errorf("rows belong together by %s, not by %s", def.Mask.Order, def.IDColumn())
	case len(rule.columns) == 0 || !ok || path.Ext(answers) != ".csv":
		return fmt.Errorf("the answers are not a table with a column of ids")
	}
	rule.columns = rule.columns[:1]
	work, err := os.MkdirTemp(o.Work, "draw-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	d := &drawn{hash: newKeyer(fmt.Appendf(nil, "draw %d", seed)), of: new(split)}
	m := &masker{rule: rule, keys: d, work: work, spillAt: spillAt, progress: o.Progress}
	o.Progress.Begin("reading ids", 0, 0)
	if err := m.collectFile(ctx, o.Private, answers, d.answer); err != nil {
		return err
	}
	d.of.asked = compact(d.of.asked)
	if n > len(d.of.asked) {
		return fmt.Errorf("%d ids are wanted, and there are %d", n, len(d.of.asked))
	}
	part := float64(n) / float64(len(d.of.asked))
	d.of.lastAsked = d.of.asked[n-1]
	if err := o.halves(func(half string, files fs.FS) error { return m.collect(ctx, half, files, d.other) }); err != nil {
		return err
	}
	d.of.others = compact(d.of.others)
	if rest := len(d.of.others); rest > 0 {
		d.of.lastOther = d.of.others[max(int(math.Ceil(part*float64(rest))), 1)-1]
	}
	o.Progress.Begin("drawing", 0, 0) // the files of ids that are not drawn are left out
	return o.halves(func(half string, files fs.FS) error { return m.write(ctx, half, files, o.Out) })
}

// split is a draw of ids, each by a hash of it. Those with the least hashes are drawn.
type split struct {
	asked, others        []uint64 // sorted: the ids of the answers, and all others
	lastAsked, lastOther uint64   // the last that are drawn
}

// drawn leaves out the rows and files of ids that are not drawn.
type drawn struct {
	hash *keyer
	of   *split
}

func (d *drawn) at(id string) uint64 { return binary.BigEndian.Uint64(d.hash.hash("draw", id)) }

func (d *drawn) answer(id string) { d.of.asked = append(d.of.asked, d.at(id)) }

func (d *drawn) other(id string) {
	at := d.at(id)
	if _, ok := slices.BinarySearch(d.of.asked, at); ok {
		return
	}
	if d.of.others = append(d.of.others, at); len(d.of.others) == cap(d.of.others) {
		d.of.others = slices.Grow(compact(d.of.others), 1+len(d.of.others)/2) // most ids are there several times
	}
}

func compact(list []uint64) []uint64 {
	slices.Sort(list)
	return slices.Compact(list)
}

func (d *drawn) known(id string) bool {
	at := d.at(id)
	_, asked := slices.BinarySearch(d.of.asked, at)
	_, other := slices.BinarySearch(d.of.others, at)
	return asked || other
}

func (d *drawn) keep(id string) bool {
	at := d.at(id)
	if _, asked := slices.BinarySearch(d.of.asked, at); asked {
		return at <= d.of.lastAsked
	}
	return at <= d.of.lastOther
}

func (d *drawn) key(id string) string { return id }
func (d *drawn) order(string) uint64  { return 0 }
func (d *drawn) plain() bool          { return true }
func (d *drawn) clone() change        { return &drawn{newKeyer(d.hash.salt), d.of} }

// Folder is prepared data on their way into another folder.
type Folder struct {
	From, To string
	Work     *progress.Work
}

// Write makes To with the files that write writes, as a whole or not at all; what names
// that in an error.
func (f Folder) Write(what string, write func(Options) error) (err error) {
	folder, err := prep.NewFolder(f.To)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	if err = write(f.Options(folder)); err != nil {
		return err
	}
	return folder.Publish()
}

// Options are those that read From and write to a sink.
func (f Folder) Options(out prep.Sink) Options {
	return Options{
		Public: os.DirFS(filepath.Join(f.From, "public")), Private: os.DirFS(filepath.Join(f.From, "private")), Out: out, Progress: f.Work,
	}
}
