package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// Cache is the part of a cache that a bundle reads.
type Cache interface {
	cache.Store
	cache.Index
}

// Source holds the inputs of a bundle.
type Source struct {
	Past    *history.Past
	History *history.Store
	Cache   Cache
	// Graph is the pipeline of the run with its variables.
	Graph *config.Graph
	// Folders are hidden in texts of mleflow, each by its name.
	Folders map[string]string
	// Secrets are values that must not be in the bundle.
	Secrets []string
	// Key signs the provenance; nil does not.
	Key *Key
	// Work, if set, counts the bytes that are read and then those that are written.
	Work *progress.Work
}

// collector gathers the files of a bundle.
type collector struct {
	account
	src     Source
	ctx     context.Context
	sum     *history.Summary
	rules   map[string]rule
	mask    *masker
	omitted []Omission
	items   map[string]item
	// names are the names of the graded files.
	names map[string]bool
	// data are the files of the competitions, answers the private ones.
	data, answers map[digest.ContentID]bool
	disclosed     *Disclosure
	// counted are the attempts in the chain.
	counted []Tried
	leaks   leaks
	// trees are the directories that have been added.
	trees map[digest.ContentID]bool
}

// add adds a file in memory.
func (c *collector) add(path string, b []byte) {
	c.items[path] = item{File{path, digest.Of(b), int64(len(b))}, text(b)}
}

func (c *collector) addDocument(path string, v any) error {
	b, err := document(v)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.add(path, b)
	return nil
}

func (c *collector) omit(what, id, why string) {
	c.omitted = append(c.omitted, Omission{What: what, Digest: id, Why: why})
}

// newCollector reads the run's entry in the run history.
func newCollector(ctx context.Context, src Source) (*collector, error) {
	sum, err := src.Past.Summary()
	if err != nil {
		return nil, err
	}
	c := &collector{src: src, ctx: ctx, sum: sum, rules: rules(src.Graph), items: map[string]item{}, omitted: []Omission{},
		data: map[digest.ContentID]bool{}, answers: map[digest.ContentID]bool{}, trees: map[digest.ContentID]bool{}, names: map[string]bool{},
		leaks: leaks{secret.New(src.Secrets...), src.Cache, map[digest.ContentID]string{}}}
	folders := map[string]string{"PIPELINE": filepath.Dir(src.Past.Info.Pipeline)}
	maps.Copy(folders, src.Folders)
	c.mask = newMasker(folders, src.Past.Info.Host)
	return c, nil
}

// collect gathers everything but the provenance.
func collect(ctx context.Context, src Source) (*collector, error) {
	c, err := newCollector(ctx, src)
	if err != nil {
		return nil, err
	}
	if c.sum.State == history.Running {
		return nil, fmt.Errorf("bundle run %s: it has not ended", c.sum.ID)
	}
	if err := inOrder(c.about, c.readRecords, c.journal, c.chain, c.logs, c.knowData, c.outputs, c.disclose); err != nil {
		return nil, err
	}
	slices.SortFunc(c.omitted, func(a, b Omission) int {
		return strings.Compare(a.What+"\x00"+a.Digest+a.Why, b.What+"\x00"+b.Digest+b.Why)
	})
	c.add(readmeFile, []byte(readmeText))
	return c, c.addDocument(omittedFile, c.omitted)
}

// inOrder calls functions until one fails, and returns its error.
func inOrder(parts ...func() error) error {
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// about adds the facts known at the run's start.
func (c *collector) about() error {
	sources, errSources := c.src.Past.Sources()
	pl, err := c.src.Past.Plan()
	if err := cmp.Or(errSources, err); err != nil {
		return err
	}
	name := filepath.Base(c.src.Past.Info.Pipeline)
	for path, src := range sources {
		c.add("pipeline/"+path, src)
	}
	c.Run, c.environment = runOf(c.src.Past, c.sum, sources[name], c.mask), environmentOf(c.src.Past.Info)
	return errors.Join(c.addDocument(runFile, c.Run), c.addDocument(environmentFile, c.environment), c.addPlan(pl))
}

func (c *collector) addPlan(pl *plan.Plan) error {
	pl.Pipeline = filepath.Base(pl.Pipeline)
	for i := range pl.Steps {
		s := &pl.Steps[i]
		for j := range s.Reasons {
			r := &s.Reasons[j]
			if c.rules[s.Name].tainted {
				r.From, r.To, r.Text = withheld, withheld, withheld
			}
			r.From, r.To, r.Text = c.mask.text(r.From), c.mask.text(r.To), c.mask.text(r.Text)
		}
	}
	// The forecast of disk space and the copies are of no use to a reader.
	pl.Forecast, pl.Copies = nil, nil
	return c.addDocument(planFile, pl)
}

// readRecords adds the steps' outputs, which must be those in the run's journal.
func (c *collector) readRecords() error {
	var lines bytes.Buffer
	steps := slices.Clone(c.sum.Steps)
	slices.SortFunc(steps, func(a, b history.StepSummary) int { return compareAddresses(a.Address, b.Address) })
	for _, s := range steps {
		if s.Action == "" {
			continue
		}
		rec, err := outputs.Lookup(c.ctx, c.src.Cache, s.Action)
		if err != nil {
			return fmt.Errorf("bundle %s: its result is not available: %w", s.Address, err)
		}
		for name, was := range s.Outputs {
			if v, found := rec.Outputs[name]; !found || was != shown(v) {
				return fmt.Errorf("bundle %s: its output %s is no longer the run's; the step has been run again since", s.Address, name)
			}
		}
		r := newRecord(s.Address, rec, c.rules[s.Address], c.mask)
		c.records = append(c.records, r)
		line, err := oneLine(r)
		if err != nil {
			return err
		}
		lines.Write(line)
	}
	c.add(recordsFile, lines.Bytes())
	lock, err := c.lock(c.src.Graph)
	if err != nil {
		return fmt.Errorf("bundle lock: %w", err)
	}
	c.add(lockFile, lock)
	return c.addDocument(competitionsFile, c.definitions())
}

// journal adds the events.
func (c *collector) journal() error {
	open := true
	for _, r := range c.rules {
		open = open && r.tells()
	}
	var lines bytes.Buffer
	for e, err := range c.src.Past.Events() {
		if err != nil {
			return err
		}
		if e = redacted(e, c.rules, open); e == nil {
			continue
		}
		line, err := event.Encode(e)
		if err != nil {
			return err
		}
		if _, ok := e.(event.Evaluated); !ok { // whose names are those of the pipeline's text, which is not masked
			line = c.mask.bytes(line)
		}
		lines.Write(line)
		lines.WriteByte('\n')
	}
	c.add(eventsFile, lines.Bytes())
	return nil
}

// logs adds the steps' logs. They are read again when they are written.
func (c *collector) logs() error {
	for _, s := range c.sum.Steps {
		for _, n := range c.src.Past.Logs(s.Address) {
			path := fmt.Sprintf("logs/%s.%d.log", folder(s.Address), n)
			if !c.rules[s.Address].logs() {
				c.omit(path, "", "the log of a step that reads private data")
				continue
			}
			open := func() (io.ReadCloser, error) {
				r, err := c.src.Past.OpenLog(s.Address, n)
				if err != nil {
					return nil, err
				}
				b, err := io.ReadAll(r)
				if err = errors.Join(err, r.Close()); err != nil {
					return nil, err
				}
				return io.NopCloser(bytes.NewReader(c.mask.bytes(b))), nil
			}
			b, err := slurp(open)
			if err != nil {
				return fmt.Errorf("bundle log of %s: %w", s.Address, err)
			}
			c.items[path] = item{File{path, digest.Of(b), int64(len(b))}, open}
		}
	}
	return nil
}

// knowData collects the competitions' own files, and which of them are answers.
func (c *collector) knowData() error {
	public := map[digest.ContentID]bool{}
	for _, r := range c.records {
		for name, v := range r.outputs() {
			rule := c.rules[r.Address]
			if rule.kind == nil || rule.content(name) || v.Ref.Kind != cache.Tree {
				continue
			}
			into := []map[digest.ContentID]bool{c.data}
			switch out := rule.kind.Output(name); {
			case name == "public":
				into = append(into, public)
			case name == "private" && out != nil:
				into = append(into, c.answers)
			}
			if err := c.files(v.Ref, into); errors.Is(err, cache.ErrNotFound) {
				c.omit(r.Address+" "+name, v.Ref.ID.String(), "it is not in the cache, so nothing could be compared with it")
			} else if err != nil {
				return err
			}
		}
	}
	for id := range public {
		delete(c.answers, id)
	}
	return nil
}

// files records the files of a tree. Files of a few bytes are equal by chance and are
// left out.
func (c *collector) files(ref cache.Ref, into []map[digest.ContentID]bool) error {
	return tree.Walk(c.ctx, c.src.Cache, ref, func(_ string, e tree.Entry) error {
		if e.IsDir() || e.Size < 16 {
			return nil
		}
		for _, m := range into {
			m[e.ID] = true
		}
		return nil
	})
}

// sorted returns the items by path.
func (c *collector) sorted() []item {
	return slices.SortedFunc(maps.Values(c.items), func(a, b item) int { return strings.Compare(a.Path, b.Path) })
}
