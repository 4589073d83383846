package pins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// allFiles names the folder of all files in a report.
const allFiles = "manifest of all files"

// manifest compares the digest of all files, and names those that differ.
func (v *verification) manifest(ctx context.Context) error {
	want := v.Definition.Checksums.Manifest
	if _, inStore := v.Data.folder.(treeFolder); want == "" && !inStore {
		return nil
	}
	if disk, ok := v.Data.folder.(*diskFolder); ok {
		disk.begin("checking all files", v.Work)
		defer disk.begin("", nil)
	}
	root, err := v.Data.folder.identity(ctx, ".")
	if err != nil {
		return err
	}
	v.report.Manifest = root.ID.String()
	if want == "" {
		return nil
	}
	v.report.Pinned++
	if want == v.report.Manifest {
		v.report.Matched++
		return nil
	}
	right, err := v.right(ctx)
	if err != nil {
		return err
	}
	if right != nil {
		if err := v.walk(ctx, right, "."); err != nil {
			return err
		}
	}
	if !v.named {
		v.add(v.unnamed(want, root, right))
	}
	return nil
}

// unnamed is the mismatch of the digest when it cannot be said which files make
// it.
func (v *verification) unnamed(want string, root tree.Entry, right folder) Mismatch {
	m := Mismatch{Path: allFiles, Problem: Wrong, Want: want, Got: root.ID.String(), WantBytes: -1, GotBytes: root.Size}
	if m.Explanation = "what it is compared with has the same files"; right == nil {
		m.Explanation = "whether other files differ is not known: the competition has no manifest file, and there is nothing to compare with"
	}
	return m
}

// right returns the expected files, as far as they are known; nil if none are.
func (v *verification) right(ctx context.Context) (folder, error) {
	if v.best != nil {
		return v.best, nil
	}
	switch stored := v.stored(ctx); {
	case v.Expected != nil:
		e, err := v.Expected(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the expected files: %w", err)
		}
		v.best = e.folder
	case stored != nil:
		v.best = stored
	case v.known != nil:
		v.best = knownFolder{v.known}
	}
	return v.best, nil
}

// stored returns the tree of the pinned digest if the store still has it.
func (v *verification) stored(ctx context.Context) folder {
	id := parse(v.Definition.Checksums.Manifest)
	if v.Store == nil || id.IsZero() {
		return nil
	}
	r, err := v.Store.Open(ctx, id)
	if err != nil {
		return nil
	}
	defer r.Close()
	dec := tree.NewDecoder(r)
	for err == nil {
		_, err = dec.Next()
	}
	ref := cache.Ref{Kind: cache.Tree, ID: id}
	ref.Size, ref.Files = dec.Totals()
	f := treeFolder{v.Store, ref}
	for name := range halves {
		n, err := f.identity(ctx, name)
		if err == nil {
			_, err = v.Store.Has(ctx, n.ID)
		}
		if err != nil {
			return nil
		}
	}
	return f
}

// walk compares two folders entry by entry, in the order of their names.
func (v *verification) walk(ctx context.Context, right folder, dir string) error {
	want, stopWant := iter.Pull2(right.list(ctx, dir))
	defer stopWant()
	got, stopGot := iter.Pull2(v.Data.folder.list(ctx, dir))
	defer stopGot()
	w, wErr, wOK := want()
	g, gErr, gOK := got()
	for wOK || gOK {
		if errors.Is(wErr, errSealed) || errors.Is(wErr, cache.ErrNotFound) {
			return v.sealed(ctx, right, dir)
		}
		if err := errors.Join(wErr, gErr, ctx.Err()); err != nil {
			return err
		}
		var err error
		switch {
		case !gOK || wOK && w.Name < g.Name:
			err = v.missing(ctx, right, path.Join(dir, w.Name))
			w, wErr, wOK = want()
		case !wOK || g.Name < w.Name:
			err = v.unexpected(ctx, path.Join(dir, g.Name), g)
			g, gErr, gOK = got()
		default:
			err = v.both(ctx, right, path.Join(dir, w.Name), w)
			w, wErr, wOK = want()
			g, gErr, gOK = got()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// both compares an entry that exists on both sides.
func (v *verification) both(ctx context.Context, right folder, name string, want tree.Entry) error {
	got, err := v.Data.folder.identity(ctx, name)
	if err != nil {
		return err
	}
	if want.ID.IsZero() {
		if want, err = right.identity(ctx, name); err != nil {
			return err
		}
	}
	switch {
	case want.ID == got.ID && want.IsDir() == got.IsDir():
		return nil
	case want.IsDir() && got.IsDir():
		return v.walk(ctx, right, name)
	}
	m := Mismatch{Path: name, Problem: Wrong, Want: want.ID.String(), Got: got.ID.String(), WantBytes: want.Size, GotBytes: got.Size}
	switch {
	case want.IsDir():
		m.Explanation = "a file where a folder should be"
	case got.IsDir():
		m.Explanation = "a folder where a file should be"
	}
	v.add(m)
	return nil
}

// sealed notes a folder of which only the whole is known.
func (v *verification) sealed(ctx context.Context, right folder, dir string) error {
	want, errWant := right.identity(ctx, dir)
	got, err := v.Data.folder.identity(ctx, dir)
	if err := cmp.Or(errWant, err); err != nil {
		return err
	}
	m := Mismatch{Path: dir + "/", Problem: Wrong, Want: want.ID.String(), Got: got.ID.String(), WantBytes: want.Size, GotBytes: got.Size}
	if k, ok := right.(knownFolder); ok {
		if err := v.telling(ctx, k, dir); err != nil {
			return err
		}
	}
	m.Explanation = fmt.Sprintf("want %s files, got %s; which of them differ is not known", humanize.Comma(want.Files), humanize.Comma(got.Files))
	v.add(m)
	return nil
}

func (v *verification) missing(ctx context.Context, right folder, name string) error {
	n, err := right.identity(ctx, name)
	v.add(wholeFolder(Mismatch{Path: name, Problem: Missing, Want: n.ID.String(), WantBytes: n.Size, GotBytes: -1}, n))
	return err
}

func (v *verification) unexpected(ctx context.Context, name string, n tree.Entry) error {
	n, err := v.Data.folder.identity(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	v.add(wholeFolder(Mismatch{Path: name, Problem: Unexpected, Got: n.ID.String(), WantBytes: -1, GotBytes: n.Size}, n))
	return err
}

// telling compares those files of a large folder that the manifest lists.
func (v *verification) telling(ctx context.Context, known knownFolder, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(known.Files)) {
		if path.Dir(name) != dir {
			continue
		}
		want, err := known.identity(ctx, name)
		if err != nil {
			return err
		}
		_, err = v.Data.folder.identity(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = v.missing(ctx, known, name)
		} else if err == nil {
			err = v.both(ctx, known, name, want)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeFolder says of a folder that it is one.
func wholeFolder(m Mismatch, n tree.Entry) Mismatch {
	if n.IsDir() {
		m.Path += "/"
		m.Explanation = fmt.Sprintf("a folder of %s files", humanize.Comma(n.Files))
	}
	return m
}

// explain describes how the first wrong files differ.
func (v *verification) explain(ctx context.Context) error {
	explained := 0
	for i := range v.report.Mismatches {
		m := &v.report.Mismatches[i]
		if m.Problem != Wrong || m.Explanation != "" || explained == maxExplained {
			continue
		}
		explained++
		d, err := v.difference(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the data were read before: it is what they are compared with
			d.Text = fmt.Sprintf("no more is known: %v", err)
		}
		m.SameContent, m.Explanation = d.Same, d.Text
		if d.Text == "" && path.Ext(m.Path) == ".parquet" {
			m.Explanation = v.parquet(ctx, m)
		}
	}
	return nil
}

// difference compares a wrong file with the best there is.
func (v *verification) difference(ctx context.Context, m *Mismatch) (compare.Difference, error) {
	right, err := v.right(ctx)
	if err != nil || right == nil {
		return compare.Difference{}, err
	}
	got := v.Data.folder.open(m.Path)
	d, err := v.withBytes(ctx, m, right, got)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cache.ErrNotFound) {
		return d, err
	}
	if v.known != nil {
		if s, ok := v.known.Files[m.Path]; ok {
			return compare.WithSummary(ctx, m.Path, s, got)
		}
	}
	return compare.Difference{}, nil
}

// withBytes compares with a file that is at hand, and says so when that is not
// the pinned one either.
func (v *verification) withBytes(ctx context.Context, m *Mismatch, right folder, got compare.Opener) (compare.Difference, error) {
	pin, pinned := v.Definition.Checksums.Pinned()[m.Path]
	sum := summed{sum: pin}
	if pinned {
		var err error
		if sum, err = sumOf(ctx, right, m.Path, pin, nil); err != nil {
			return compare.Difference{}, err
		}
		if sum.missing {
			return compare.Difference{}, fs.ErrNotExist
		}
	}
	if sum.sum == m.Got {
		return compare.Difference{Text: "the file to compare with has these bytes too, so it is not the pinned one"}, nil
	}
	d, err := compare.Files(ctx, m.Path, right.open(m.Path), got)
	if pinned && sum.sum != pin {
		d.Text = fmt.Sprintf("the file to compare with is not the pinned one either (%s); %s", sum, d.Text)
	} else if pinned {
		m.WantBytes = sum.size
	}
	return d, err
}
