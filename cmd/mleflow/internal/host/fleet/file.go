package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/cluster/all"
)

// File is a cluster file.
type File struct {
	Path string
	// RemoteCache is where controller and workers meet, empty if the file does not
	// say.
	RemoteCache string
	Backends    []*Backend
	// Sources are for snippets in diagnostics.
	Sources diag.Sources
}

// Backend is a backend block.
type Backend struct {
	Kind, Name string
	// Runs are the kinds of steps that run there unless their block says otherwise.
	Runs []string
	// Trusted says that it may have private content.
	Trusted bool
	// Runtime is what runtime = "auto" is there.
	Runtime string
	// MaxJobs is the most jobs at a time, 0 for no limit, Retries how often one is
	// restarted after a failure of the machines, Grace the time between SIGTERM and
	// SIGKILL.
	MaxJobs int
	Retries int
	Grace   time.Duration
	// Preemptible says that jobs are often taken off their nodes, so they are restarted
	// more often.
	Preemptible bool
	// Spare is what a job may take beyond the timeout of its step, to fetch the inputs
	// and to store the results.
	Spare time.Duration
	// SiteDecides are the limits, of cluster.Limits, that jobs do not ask for.
	SiteDecides []string
	Range       hcl.Range

	cluster.Backend
}

// oftenRetries is the default of retries for a preemptible backend.
const oftenRetries = 100

// root is the schema of a cluster file:
//
//	remote_cache = "s3://bucket/mleflow?region=eu-central-1"
//	backend "kubernetes" "lab" {
//	  max_jobs = 50
//	}
type root struct {
	RemoteCache string  `hcl:"remote_cache,optional"`
	Backends    []block `hcl:"backend,block"`
}

type block struct {
	Kind    string   `hcl:"kind,label"`
	Name    string   `hcl:"name,label"`
	Runs    []string `hcl:"runs,optional"`
	Trusted bool     `hcl:"trusted,optional"`
	Runtime *string  `hcl:"runtime,optional"`
	MaxJobs int      `hcl:"max_jobs,optional"`
	Often   bool     `hcl:"preemptible,optional"`
	Retries *int     `hcl:"retries,optional"`
	Grace   string   `hcl:"grace,optional"`
	Spare   string   `hcl:"spare,optional"`
	Site    []string `hcl:"site_decides,optional"`
	Rest    hcl.Body `hcl:",remain"`

	Range hcl.Range `hcl:",def_range"`
}

// Read reads a cluster file and makes its backends, without a request to any.
func Read(path string) (*File, diag.List) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.List{diag.Failure("Cluster file cannot be read", err)}
	}
	parsed, found := bounded.Parse(src, path)
	f := &File{Path: path, Sources: diag.Sources{path: parsed}}
	if found.HasErrors() {
		return f, diag.List(found)
	}
	var r root
	if found = gohcl.DecodeBody(parsed.Body, nil, &r); found.HasErrors() {
		return f, diag.List(found)
	}
	f.RemoteCache = r.RemoteCache
	var diags diag.List
	for i := range r.Backends {
		diags = append(diags, f.add(&r.Backends[i])...)
	}
	if len(r.Backends) == 0 {
		diags = append(diags, diag.General("No backend", "%s declares no backend; write backend \"KIND\" \"NAME\" { … }.", path))
	}
	return f, diags
}

func (f *File) add(b *block) diag.List {
	fail := func(summary, format string, args ...any) diag.List {
		return diag.List{diag.Error(b.Range, summary, format, args...)}
	}
	kinds := all.Kinds()
	i := slices.IndexFunc(kinds, func(k all.Kind) bool { return k.Name == b.Kind })
	if i < 0 {
		names := lists.Of(kinds, func(k all.Kind) string { return k.Name })
		return fail("Unknown kind of backend", "There is no kind of backend %q.%s The kinds are: %s.", b.Kind, diag.DidYouMean(b.Kind, names), strings.Join(names, ", "))
	}
	out := &Backend{Kind: b.Kind, Name: b.Name, Runs: b.Runs, Trusted: b.Trusted, Preemptible: b.Often, Runtime: "sandbox", MaxJobs: b.MaxJobs, Retries: 3, Grace: 2 * time.Minute, Spare: 30 * time.Minute, SiteDecides: b.Site, Range: b.Range}
	if b.Runs == nil {
		out.Runs = []string{"agent-run"}
	}
	if b.Runtime != nil {
		out.Runtime = *b.Runtime
	}
	if b.Often {
		out.Retries = oftenRetries
	}
	if b.Retries != nil {
		out.Retries = *b.Retries
	}
	if b.Name == "" || b.Name == engine.Here {
		return fail("Invalid name", "A backend cannot be named %q, which stands for this machine.", b.Name)
	}
	if out.MaxJobs < 0 || out.Retries < 0 {
		return fail("Invalid number", "max_jobs and retries must not be negative.")
	}
	for _, d := range []struct {
		name, text string
		into       *time.Duration
	}{{"grace", b.Grace, &out.Grace}, {"spare", b.Spare, &out.Spare}} {
		if err := cluster.Duration(d.into, d.name, d.text, *d.into); err != nil {
			return fail("Invalid "+d.name, "%v.", err)
		}
	}
	for _, l := range b.Site {
		if !slices.Contains(cluster.Limits, l) {
			return fail("Unknown limit", "site_decides has %q.%s The limits are: %s.", l, diag.DidYouMean(l, cluster.Limits), strings.Join(cluster.Limits, ", "))
		}
	}
	for _, other := range f.Backends {
		if other.Name == b.Name {
			return fail("Duplicate backend", "There is a backend %q already, at %s:%d.", b.Name, other.Range.Filename, other.Range.Start.Line)
		}
		for _, k := range out.Runs {
			if slices.Contains(other.Runs, k) {
				return fail("Two backends for one kind of step", "The backend %q runs steps of kind %q already. Write runs in both, and on = \"NAME\" in steps that are to run elsewhere.", other.Name, k)
			}
		}
	}
	var found hcl.Diagnostics
	backend, err := kinds[i].Open(func(into any) error {
		if found = gohcl.DecodeBody(joining{b.Rest}, nil, into); found.HasErrors() {
			return errDecoded
		}
		return nil
	}, b.Site)
	switch {
	case errors.Is(err, errDecoded):
		return diag.List(found)
	case err != nil:
		return fail("Invalid backend", "%s", diag.Sentence(fmt.Sprintf("backend %q: %v", b.Name, err)))
	}
	out.Backend = backend
	f.Backends = append(f.Backends, out)
	return nil
}

// joining is a body in which partition may be a list: partition = ["a", "b"] is "a,b".
type joining struct{ hcl.Body }

// Content implements hcl.Body.
func (j joining) Content(s *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	c, found := j.Body.Content(s)
	if a := c.Attributes["partition"]; a != nil {
		a.Expr = joined{a.Expr}
	}
	return c, found
}

// joined is an expression whose value, if it is a list of strings, is joined by commas.
type joined struct{ hcl.Expression }

// Value implements hcl.Expression.
func (j joined) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, found := j.Expression.Value(ctx)
	var list []string
	if l, err := convert.Convert(v, cty.List(cty.String)); err == nil && gocty.FromCtyValue(l, &list) == nil && list != nil {
		v = cty.StringVal(strings.Join(list, ","))
	}
	return v, found
}

var errDecoded = errors.New("the block is wrong")

// ExamineTime compares what a job takes beyond the timeout of its step with the time
// limit of the nodes. It returns nil if there is no limit, or none is known.
func ExamineTime(ctx context.Context, b *Backend) *cluster.Check {
	nodes, err := b.Nodes(ctx)
	longest := time.Duration(0)
	for _, n := range nodes {
		if n.MaxTime == 0 || slices.Contains(b.SiteDecides, "time") {
			return nil
		}
		longest = max(longest, n.MaxTime)
	}
	if err != nil || longest == 0 {
		return nil // Examine says why
	}
	c := &cluster.Check{Name: "time limit", OK: longest > b.overhead(), Fix: "lower spare in the cluster file, or name a partition with a longer limit"}
	c.Detail = fmt.Sprintf("a job may run for %s; less spare (%s) and grace (%s), ", short(longest), short(b.Spare), short(b.Grace))
	if c.OK {
		c.Detail += "the timeout of a step may be up to " + short(longest-b.overhead())
	} else {
		c.Detail += "nothing is left for a step"
	}
	return c
}

// checkpointTime is what an attempt gets for its last checkpoint, and what the worker needs
// besides.
const checkpointTime = 30 * time.Second

// ExamineGrace returns a check if attempts on nodes that may be taken away have too little
// time for a checkpoint, else nil.
func ExamineGrace(b *Backend) *cluster.Check {
	if !b.Preemptible || b.Grace >= checkpointTime {
		return nil
	}
	return &cluster.Check{Name: "grace", Optional: true, Detail: fmt.Sprintf("%s may be too short for the checkpoint of an attempt that loses its node", short(b.Grace)), Fix: fmt.Sprintf("write grace = %q or more in the cluster file", short(checkpointTime))}
}

// ExamineCache tries what controller and workers do with the remote cache: create a
// document once, read it, list it and remove it.
func ExamineCache(ctx context.Context, tier *remote.Tier) cluster.Check {
	const folder = "work/.try"
	c := cluster.Check{Name: "remote cache", OK: true, Detail: tier.Location().String()}
	fail := func(what string, err error) cluster.Check {
		c.OK, c.Detail = false, fmt.Sprintf("%s: %s: %v", c.Detail, what, err)
		c.Fix = "see docs/remote.md for addresses, credentials and permissions; workers need the same"
		return c
	}
	desk, name, text := tier.Desk(), folder+"/"+rand.Text(), []byte(rand.Text())
	start := time.Now()
	if err := desk.Create(ctx, name, text); err != nil {
		return fail("it cannot be written", err)
	}
	again := desk.Create(ctx, name, []byte(rand.Text()))
	got, err := desk.Get(ctx, name)
	names, listErr := desk.List(ctx, folder)
	removed := desk.Remove(ctx, name)
	switch {
	case err != nil || string(got) != string(text):
		return fail("what was written cannot be read", errors.Join(err, cache.ErrCorrupt))
	case listErr != nil || len(names) == 0:
		return fail("what was written is not listed", listErr)
	case removed != nil:
		return fail("what was written cannot be removed", removed)
	case !errors.Is(again, remote.ErrExists):
		return fail("it does not refuse to create what exists, so two workers could run one action", again)
	}
	c.Detail += fmt.Sprintf("; a document was written, read, listed and removed in %v", time.Since(start).Round(time.Millisecond))
	return c
}
