package bundle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
)

// Derive derives the lock, the disclosure, its page, the withheld content and the owners
// of logs again from the records and the pipeline, and compares them. g is the pipeline
// with its variables.
func (x *Examined) Derive(ctx context.Context, b *Bundle, g *config.Graph) error {
	by := rules(g)
	if err := checkWithheld(x.records, by); err != nil {
		return err
	}
	lock, err := x.lock(g)
	if err != nil {
		return damage(recordsFile, "%w", err)
	}
	return cmp.Or(b.derives(lockFile, recordsFile, lock), x.checkDisclosure(ctx, b, by), checkLogs(b, g))
}

// derives checks that a document is the one that others give.
func (b *Bundle) derives(path, others string, want any) error {
	again, isText := want.([]byte)
	if !isText {
		var err error
		if again, err = document(want); err != nil {
			return err
		}
	}
	text, err := b.Read(path)
	if err != nil {
		return err
	}
	if at := differ(again, text); at >= 0 {
		return damage(path, "it differs from %s (%s)", others, lineAround(text, at))
	}
	return nil
}

// lineAround is the line of a text that holds byte at.
func lineAround(text []byte, at int) string {
	at = min(at, len(text))
	from := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(string(text[from:]), "\n")
	return fmt.Sprintf("line %d: %.100s", bytes.Count(text[:from], []byte("\n"))+1, strings.TrimSpace(line))
}

// checkWithheld checks that nothing is withheld that may be published: content by its
// digest, content whose digest is in a key, and values that reveal no private data.
func checkWithheld(records []record, by map[string]rule) error {
	for _, r := range records {
		for _, i := range r.Masked {
			if i < 0 || i >= len(r.Fields) || strings.HasPrefix(r.Fields[i].Label, "kind") || step.IsCondition(r.Fields[i].Label) {
				return damage(recordsFile, "a field of %s is masked that must not be", r.Address)
			}
			if _, err := digest.ParseContentID(r.Fields[i].Value); err == nil {
				return damage(recordsFile, "the %s of %s is masked, which is a digest", r.Fields[i].Label, r.Address)
			}
		}
		for name, o := range r.Outputs {
			found := by[r.Address].value(name, o.cached())
			if isWithheld(o.Value) && !isWithheld(found.JSON) {
				return damage(recordsFile, "the output %s of %s is withheld, although it discloses no private data", name, r.Address)
			}
		}
	}
	return nil
}

func isWithheld(value json.RawMessage) bool { return string(value) == `"`+withheld+`"` }

// checkDisclosure derives the disclosure again. The number of attempts is in no other
// file of the bundle and is taken from it unchecked.
func (x *Examined) checkDisclosure(ctx context.Context, b *Bundle, by map[string]rule) error {
	said, errSaid := b.Disclosure()
	store, err := b.Store(nil)
	if err := cmp.Or(errSaid, err); err != nil {
		return err
	}
	d, err := x.disclosure(ctx, store)
	if err != nil {
		return damage(disclosureFile, "%w", err)
	}
	if len(said.Attempts) != len(d.Attempts) {
		return damage(disclosureFile, "it names %d attempts, but there are %d", len(said.Attempts), len(d.Attempts))
	}
	d.Earlier, d.Elsewhere, d.Evaluation = said.Earlier, said.Elsewhere, x.Summary.Evaluation
	if x.Chain != nil && x.Chain.Lines > 0 {
		d.Counted = x.Chain.Agents
		x.Chain.lacks(slices.Concat(said.Earlier, said.Elsewhere))
	}
	for i := range d.Attempts {
		a, run := &d.Attempts[i], d.Attempts[i].History.Run
		a.Limits.DiskBytes = by[a.Address].diskBytes
		a.History = said.Attempts[i].History
		a.History.Run = run
	}
	if err := b.derives(disclosureFile, recordsFile, d); err != nil {
		return err
	}
	page, err := b.Read(disclosurePage)
	if err == nil && string(page) != said.Markdown() && string(page) != said.earlier().Markdown() {
		err = damage(disclosurePage, "it differs from %s", disclosureFile)
	}
	return err
}

// logName matches the path of a log; its group is the folder of the step.
var logName = pattern.New(`^logs/(.*)\.\d+\.log$`)

// checkLogs checks that each log belongs to a step of the pipeline.
func checkLogs(b *Bundle, g *config.Graph) error {
	known := lists.Set(lists.Of(g.Instances, func(inst *config.Instance) string { return folder(inst.Addr.String()) }))
	for _, f := range b.Files {
		if !strings.HasPrefix(f.Path, "logs/") {
			continue
		}
		m := logName.Regexp().FindStringSubmatch(f.Path)
		if m == nil || !known[m[1]] {
			return damage(f.Path, "it does not belong to a step")
		}
	}
	return nil
}

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

// graded has the trees and paths of files that are read again.
func graded(records []record) map[[2]string]bool {
	all := map[[2]string]bool{}
	for _, r := range records {
		if r.Kind == conditions.GradeKind {
			all[[2]string{r.field("submission"), path.Clean(r.field("file"))}] = true
		}
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
	wanted map[[2]string]bool
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
	spans, paths, err := p.b.readPacks(p.ctx, at)
	if err != nil {
		return err
	}
	for _, path := range paths {
		p.seen[path] = true
	}
	if len(paths) > 0 {
		err = p.packed(spans, at, name, ref)
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
// packed compares a tree with the objects that the packs of its output have.
func (p *placed) packed(spans map[digest.ContentID]span, at, name string, ref cache.Ref) error {
	var above []digest.ContentID
	var absent int64
	used := map[digest.ContentID]bool{ref.ID: true}
	packs := &Store{b: &Bundle{f: p.b.f, blobs: spans}}
	err := tree.Walk(p.ctx, packs, ref, func(path string, e tree.Entry) error {
		if err := p.count(at, path); err != nil {
			return err
		}
		s, found := spans[e.ID]
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
				p.b.blobs[id] = spans[id]
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case absent != p.files[at]:
		return damage(at, "%d of its files are missing, and %s names %d", absent, omittedFile, p.files[at])
	case len(used) != len(spans):
		return damage(packPath(at, 0), "it contains something that the step did not make")
	}
	return nil
}

// again reports whether a file of an output is read again: graded files, snapshots,
// queries, and logs that a leaderboard reads.
func (p *placed) again(name, path string, ref cache.Ref) bool {
	switch name {
	case "snapshots":
		return strings.Count(path, "/") == 1
	case "logs":
		return path == usageFile
	case "queries":
		return true
	}
	return p.wanted[[2]string{ref.ID.String(), path}]
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
