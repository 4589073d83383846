package bundle

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// checkContent compares outputs, packs and trees with the records: nothing may be
// added, renamed or missing.
func (x *Examined) checkContent(ctx context.Context, b *Bundle, omitted []Omission) error {
	p := &placed{ctx: ctx, b: b, left: map[string]bool{}, files: map[string]int64{}, seen: map[string]bool{}, wanted: graded(x.records)}
	b.begin("reading packs", func(path string) bool { return strings.HasPrefix(path, "packs/") })
	for _, o := range omitted {
		if o.Files > 0 {
			p.files[o.What] += o.Files
		} else {
			p.left[o.What] = true
		}
	}
	for _, r := range x.records {
		for name, o := range r.Outputs {
			if o.Digest == nil || p.left[r.Address+" "+name] {
				continue
			}
			if err := p.output("outputs/"+folder(r.Address)+"/"+folder(name), name, o.cached().Ref); err != nil {
				return err
			}
		}
	}
	for _, f := range b.Files {
		top, _, _ := strings.Cut(f.Path, "/")
		if (top == "outputs" || top == "packs" || top == "trees") && !p.seen[f.Path] {
			return damage(f.Path, "no step made it")
		}
	}
	return nil
}

// usageFile is the file of an attempt's logs that a leaderboard reads.
const usageFile = "usage.json"

// graded are the paths of files that are read again, by the tree that they are
// in.
func graded(records []record) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, r := range records {
		if r.Kind != conditions.GradeKind {
			continue
		}
		tree := r.field("submission")
		if all[tree] == nil {
			all[tree] = map[string]bool{}
		}
		all[tree][path.Clean(r.field("file"))] = true
	}
	return all
}

// placed is the content that was found at its path.
type placed struct {
	ctx context.Context
	b   *Bundle
	// left are the omitted files and outputs; files is the number of omitted files of a
	// packed output.
	left   map[string]bool
	files  map[string]int64
	seen   map[string]bool
	wanted map[string]map[string]bool
	// entries is the number of visited entries: a few directories that contain each other
	// many times have many. The limit follows the size of the bundle.
	entries int
}

// deepest is the largest depth of directories.
const deepest = 200

func (p *placed) output(at, name string, ref cache.Ref) error {
	if ref.Kind != cache.Tree {
		return p.file(at, ref.ID)
	}
	pack, paths, err := p.b.openPacks(p.ctx, at)
	if err != nil {
		return err
	}
	for _, path := range paths {
		p.seen[path] = true
	}
	if pack != nil {
		err = p.packed(pack, at, name, ref)
	} else {
		err = p.loose(at, ref)
	}
	var bad *Damage
	if err != nil && !errors.As(err, &bad) && p.ctx.Err() == nil {
		return damage(at, "its directories cannot be read: %w", err)
	}
	return err
}

// count refuses trees with too many entries.
func (p *placed) count(at, path string) error {
	if p.entries++; p.entries > 4*maxEntries+int(p.b.size/8) || strings.Count(path, "/") > deepest {
		return damage(at, "its directories are too many or too deep")
	}
	return nil
}

func (p *placed) loose(at string, ref cache.Ref) error {
	if err := p.file("trees/"+ref.ID.String(), ref.ID); err != nil {
		return err
	}
	return tree.Walk(p.ctx, &Store{b: p.b}, ref, func(path string, e tree.Entry) error {
		switch err := p.count(at, path); {
		case err != nil:
			return err
		case e.IsDir():
			return p.file("trees/"+e.ID.String(), e.ID)
		}
		return p.file(at+"/"+escapePath(path), e.ID)
	})
}

// packed checks a packed output and remembers the places of the files that are read
// again.
func (p *placed) packed(pack *packs, at, name string, ref cache.Ref) error {
	var above []digest.ContentID
	var absent int64
	used := map[digest.ContentID]bool{ref.ID: true}
	err := tree.Walk(p.ctx, pack, ref, func(path string, e tree.Entry) error {
		if err := p.count(at, path); err != nil {
			return err
		}
		s, found := pack.spans[e.ID]
		switch {
		case !found && !e.IsDir():
			absent++
			return nil
		case !found || !e.IsDir() && s.size != e.Size:
			return damage(at, "%.200q is not what the step made", path)
		}
		used[e.ID] = true
		above = above[:strings.Count(path, "/")]
		if e.IsDir() {
			above = append(above, e.ID)
			return nil
		}
		if p.again(name, path, ref) {
			for _, id := range append(above, ref.ID, e.ID) {
				p.b.blobs[id] = pack.spans[id]
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case absent != p.files[at]:
		return damage(at, "%d of its files are missing, and %s names %d", absent, omittedFile, p.files[at])
	case len(used) != len(pack.spans):
		return damage(packPath(at, 0), "it contains something that the step did not make")
	}
	return nil
}

// again reports whether a file of an output is read again: graded files, snapshots, and
// logs that a leaderboard reads.
func (p *placed) again(name, path string, ref cache.Ref) bool {
	switch name {
	case "snapshots":
		return strings.Count(path, "/") == 1
	case "logs":
		return path == usageFile
	}
	return p.wanted[ref.ID.String()][path]
}

func (p *placed) file(at string, id digest.ContentID) error {
	f, found := p.b.byPath[at]
	switch {
	case !found && p.left[at]:
		return nil
	case !found || f.Digest != id:
		return damage(at, "it is not what the step made")
	}
	p.seen[at] = true
	return nil
}
