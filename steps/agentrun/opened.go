package agentrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/results"
)

// OpenedFile is the file in logs of a rehearsal that says which of the data the agent
// opened; see Opened. An agent cannot write it.
const OpenedFile = "opened.json"

// Opened says which files of the data an agent opened, from its start to its end. Files of
// equal content are one, since a sandbox may show only one of their names.
type Opened struct {
	results.Opened
	// Bytes is the size of the data.
	Bytes int64 `json:"bytes"`
	// Formats has the files by the ending of their name, such as ".dcm"; "" is none.
	Formats map[string]OpenedFormat `json:"formats"`
}

// OpenedFormat counts the files of a format.
type OpenedFormat struct {
	Files  int `json:"files"`
	Opened int `json:"opened"`
}

// Limits of what is watched and kept.
const (
	// openedNames is the number of names that stats, which the journal has, are given.
	openedNames = 10
	// openFolders is the number of folders up to which the data are watched. Each takes a
	// watch, of which a user has fs.inotify.max_user_watches, and memory of the kernel.
	openFolders = 20_000
	// openAttempts is the number of attempts that a process watches at once. Each takes one
	// of the user's fs.inotify.max_user_instances, 128 by default, which others need, too.
	openAttempts = 32
	// openPause is the pause after each look at what was opened, and openRest how many times
	// longer than the look it is at least. The kernel keeps fs.inotify.max_queued_events
	// meanwhile, 16,384 by default.
	openPause = 20 * time.Millisecond
	openRest  = 30
)

// Sum adds up the formats.
func (o Opened) Sum() (all OpenedFormat) {
	for _, f := range o.Formats {
		all.Files, all.Opened = all.Files+f.Files, all.Opened+f.Opened
	}
	return all
}

// keep stores the file in an output.
func (o *Opened) keep(ctx context.Context, store cache.Store, b *tree.Builder) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	ref, err := cache.PutBytes(ctx, store, text)
	if err != nil {
		return err
	}
	return b.Add(OpenedFile, ref, false)
}

// opening watches what an attempt opens.
type opening struct {
	*running
	*openWatch
	// folders are the watches of the folders of the data, packages the names of the
	// packages by the watches of their folders.
	folders  map[string]int32
	packages map[int32]string
}

// watchOpened watches which files of the data the agent opens. It returns a function that
// ends the watch and sums up. Nothing that fails here fails the attempt.
func (r *running) watchOpened(ctx context.Context) (stop func(context.Context) *Opened) {
	var sum func(context.Context) *Opened
	switch {
	case !r.args.WatchData:
		return func(context.Context) *Opened { return nil }
	case r.deps.watched.Add(1) > openAttempts:
		sum = unknownOpened(fmt.Sprintf("%d other attempts were watched when it began", openAttempts))
	default:
		sum = r.watchData(ctx)
	}
	return func(ctx context.Context) *Opened {
		defer r.deps.watched.Add(-1)
		return sum(ctx)
	}
}

func unknownOpened(why string) func(context.Context) *Opened {
	return func(context.Context) *Opened { return &Opened{Opened: results.Opened{Unknown: why}} }
}

func (r *running) watchData(ctx context.Context) (stop func(context.Context) *Opened) {
	w, err := newOpenWatch()
	if err != nil {
		return unknownOpened(fmt.Sprintf("the system watches no files: %v", err))
	}
	o := &opening{r, w, map[string]int32{}, map[int32]string{}}
	if err := o.addFolders(ctx); err != nil {
		w.finish()
		return unknownOpened(err.Error())
	}
	o.watchPackages()
	watching, end := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { w.run(watching) })
	return func(ctx context.Context) *Opened {
		end()
		w.interrupt()
		done.Wait()
		w.finish()
		if slices.ContainsFunc(r.shared, func(s cache.Shared) bool { return !s.Alone() }) {
			return unknownOpened("other attempts read the same copy of the data at the same time")(ctx)
		}
		sum, err := o.sum(ctx)
		if err != nil {
			return unknownOpened(fmt.Sprintf("the list of the data cannot be read: %v", err))(ctx)
		}
		return sum
	}
}

// addFolders watches the folders of the data.
func (o *opening) addFolders(ctx context.Context) error {
	add := func(name string) (err error) {
		if len(o.folders) == openFolders {
			return fmt.Errorf("the data have more than %d folders", openFolders)
		}
		if o.folders[name], err = o.add(filepath.Join(o.dirs.data, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("the kernel watches no more than %d folders of the data, by fs.inotify.max_user_watches: %w", len(o.folders)-1, err)
		}
		return nil
	}
	return errors.Join(add("."), tree.Walk(ctx, o.env.Store, o.data().Ref, func(name string, e tree.Entry) error {
		if !e.IsDir() {
			return nil
		}
		return add(name)
	}))
}

// watchPackages watches the packages of the agent's environment, where it is its own.
// Those that cannot be watched are not known.
func (o *opening) watchPackages() {
	if o.python == nil || !o.runtime.MapsPaths || o.args.Agent.Venv != "" {
		return
	}
	site := filepath.Join(o.dirs.root, "packages", "site-packages")
	entries, _ := os.ReadDir(site)
	for _, e := range entries {
		if !e.IsDir() || strings.Contains(e.Name(), "-") || len(o.packages) >= openFolders {
			continue
		}
		for _, dir := range []string{e.Name(), e.Name() + "/__pycache__"} {
			if id, err := o.add(filepath.Join(site, dir)); err == nil {
				o.packages[id] = e.Name()
			}
		}
	}
}

// imported are the packages whose first file was opened.
func (o *opening) imported() []string {
	names := map[string]bool{}
	for id, name := range o.packages {
		for file := range o.seen[id] {
			if strings.HasPrefix(file, "__init__.") {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// at is the time at which a file of the data was first opened.
func (o *opening) at(name string) (time.Duration, bool) {
	at, seen := o.seen[o.folders[path.Dir(name)]][path.Base(name)]
	return at, seen && name != descriptionFile
}

// sum compares what was opened with the list of the data.
func (o *opening) sum(ctx context.Context) (*Opened, error) {
	sum := &Opened{Formats: map[string]OpenedFormat{}}
	first := map[digest.ContentID]time.Duration{}
	err := o.files(ctx, func(name string, e tree.Entry) {
		if at, ok := o.at(name); ok {
			if before, known := first[e.ID]; !known || at < before {
				first[e.ID] = at
			}
		}
	})
	if err != nil {
		return nil, err
	}
	names := digest.NewWriter()
	err = o.files(ctx, func(name string, e tree.Entry) {
		ending := strings.ToLower(path.Ext(name))
		f := sum.Formats[ending]
		f.Files++
		sum.Files++
		sum.Bytes += e.Size
		if at, ok := first[e.ID]; ok {
			f.Opened++
			sum.Opened.Opened++
			fmt.Fprintln(names, name)
			sum.First = append(sum.First, results.FirstOpened{Name: name, Seconds: at.Seconds()})
		} else if len(sum.Never) < openedNames {
			sum.Never = append(sum.Never, name)
		}
		sum.Formats[ending] = f
	})
	slices.SortStableFunc(sum.First, func(a, b results.FirstOpened) int { return cmp.Compare(a.Seconds, b.Seconds) })
	sum.First = slices.Clone(sum.First[:min(len(sum.First), openedNames)])
	sum.Digest, sum.Packages, sum.Partly = names.ID().String(), o.imported(), o.partly()
	return sum, err
}

// partly says why some of what the agent opened is not known.
func (o *opening) partly() string {
	switch {
	case o.continued, o.before > 0:
		return "only what it opened since the attempt went on is known"
	case o.lost:
		return "it opened files faster than the kernel could tell"
	}
	return ""
}

// files calls fn for each file of the data but the description.
func (o *opening) files(ctx context.Context, fn func(name string, e tree.Entry)) error {
	return tree.Walk(ctx, o.env.Store, o.data().Ref, func(name string, e tree.Entry) error {
		if !e.IsDir() && name != descriptionFile {
			fn(name, e)
		}
		return nil
	})
}
