package pins

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// Lock is a competition's lock file and manifest file with the pins of data
// that are taken to be right.
type Lock struct {
	// Pinned and Manifest are the new texts of the two files.
	Pinned, Manifest []byte
	// Changes are the pins that are new, other or gone, in the order of their
	// paths; the digest of all files comes last, under the path "manifest".
	Changes []Change
	// Pins is the number of pinned files.
	Pins int
	// Stale means that one of the files is missing or wrong.
	Stale bool
}

// Change is a pin that changes. Old is empty for a new one, New for one that
// goes.
type Change struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// String describes the change in one line.
func (c Change) String() string {
	switch {
	case c.Old == "":
		return c.Path + ": " + c.New + " (new)"
	case c.New == "":
		return c.Path + ": " + c.Old + " (gone)"
	}
	return c.Path + ": " + c.Old + " becomes " + c.New
}

// Changed reports whether anything would be written.
func (l *Lock) Changed() bool { return len(l.Changes) > 0 || l.Stale }

// ReferenceError reports data that do not match the reference's pins.
type ReferenceError struct {
	ID      string
	Changes []Change
}

// Error names every pin, old and new.
func (e *ReferenceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d pins of the reference would change:", e.ID, len(e.Changes))
	for _, c := range e.Changes {
		b.WriteString("\n  " + c.String())
	}
	return b.String()
}

// LockOptions configure Lock.
type LockOptions struct {
	// Reference are the reference's own pins by path below the prepared
	// folder; nil when the competition is not one of its.
	Reference map[string]string
	// Force changes them too.
	Force bool
	// Work, if set, counts the files and bytes that are read to be pinned.
	Work *progress.Work
}

// NewLock pins data that are assumed to be right. For a competition of the
// reference it pins the files that the reference pins, for any other the tables
// at the top of public and private and the files pinned before. A pin of the reference
// that would change is a *ReferenceError. The pins of other versions, of the
// download and of the texts stay. Nothing is written.
func NewLock(ctx context.Context, def *competitions.Definition, data *Data, o LockOptions) (*Lock, error) {
	if of := def.PinsVersion(); of != def.Version {
		return nil, fmt.Errorf("lock %s: %s has the prepared files of %s, so lock that one", def.ID, def.Version, of)
	}
	sums, err := newSums(ctx, def, data, o)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", def.ID, err)
	}
	l := &Lock{Pins: len(sums.Public) + len(sums.Private), Changes: changes(def.Checksums.Pinned(), sums.Pinned())}
	against := slices.DeleteFunc(changes(o.Reference, sums.Pinned()), func(c Change) bool { return c.Old == "" })
	if len(against) > 0 && !o.Force {
		return nil, &ReferenceError{def.ID, against}
	}
	if disk, ok := data.folder.(*diskFolder); ok {
		disk.begin("reading all files of "+def.ID, o.Work)
		defer disk.begin("", nil)
	}
	manifest, err := describe(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", def.ID, err)
	}
	if sums.Manifest = manifest.Tree; def.Checksums.Manifest != sums.Manifest {
		l.Changes = append(l.Changes, Change{"manifest", def.Checksums.Manifest, sums.Manifest})
	}
	text, err := json.MarshalIndent(manifest, "", " ")
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", def.ID, err)
	}
	l.Manifest = append(text, '\n')
	old, _ := ReadManifest(def) // one that cannot be read is written again
	file := def.Lock()
	file.Prepared[def.Version] = sums
	l.Pinned = competitions.FormatLock(file)
	l.Stale = !reflect.DeepEqual(old, manifest) || def.LockMissing() != nil
	return l, nil
}

// newSums returns the pins of the data.
func newSums(ctx context.Context, def *competitions.Definition, data *Data, o LockOptions) (competitions.Checksums, error) {
	sums := competitions.Checksums{Public: map[string]string{}, Private: map[string]string{}}
	paths, err := toPin(ctx, def, data, o)
	o.Work.Begin("pinning the files of "+def.ID, int64(len(paths)), sizeOf(ctx, data.folder, paths, o.Work))
	for _, name := range paths {
		got, sumErr := sumOf(ctx, data.folder, name, def.Checksums.Pinned()[name], o.Work)
		if sumErr != nil {
			return sums, fmt.Errorf("read %s: %w", name, sumErr)
		}
		o.Work.Add(1, 0)
		half, below, _ := strings.Cut(name, "/")
		if into := map[string]map[string]string{"public": sums.Public, "private": sums.Private}[half]; !got.missing {
			into[below] = got.sum
		}
	}
	return sums, err
}

// toPin returns the paths of the files to pin, sorted.
func toPin(ctx context.Context, def *competitions.Definition, data *Data, o LockOptions) ([]string, error) {
	paths := slices.AppendSeq(slices.Collect(maps.Keys(def.Checksums.Pinned())), maps.Keys(o.Reference))
	for _, half := range slices.Sorted(maps.Keys(halves)) {
		for n, err := range data.folder.list(ctx, half) {
			if err != nil {
				return nil, err
			}
			if o.Reference == nil && !n.IsDir() && compare.IsTable(n.Name) {
				paths = append(paths, path.Join(half, n.Name))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// changes compares two sets of pins.
func changes(old, now map[string]string) []Change {
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
	slices.Sort(names)
	var out []Change
	for _, name := range slices.Compact(names) {
		if old[name] != now[name] {
			out = append(out, Change{name, old[name], now[name]})
		}
	}
	return out
}

// lockCommand is the command with which a user pins a definition again.
func lockCommand(def *competitions.Definition) string {
	if v := def.PinsVersion(); v != "v1" {
		return "mleflow competition lock " + def.ID + " --version " + v
	}
	return "mleflow competition lock " + def.ID
}
