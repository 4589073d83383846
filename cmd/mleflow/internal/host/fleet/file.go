package fleet

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"

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
	Range hcl.Range

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
	Rest    hcl.Body `hcl:",remain"`
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
	ranges := headers(parsed.Body)
	var diags diag.List
	for i := range r.Backends {
		diags = append(diags, f.add(&r.Backends[i], ranges[i])...)
	}
	if len(r.Backends) == 0 {
		diags = append(diags, diag.General("No backend", "%s declares no backend; write backend \"KIND\" \"NAME\" { … }.", path))
	}
	return f, diags
}

// headers are the places of the backend blocks.
func headers(body hcl.Body) (list []hcl.Range) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "backend", LabelNames: []string{"kind", "name"}}}})
	for _, b := range content.Blocks {
		list = append(list, b.DefRange)
	}
	return list
}

func (f *File) add(b *block, at hcl.Range) (diags diag.List) {
	fail := func(summary, format string, args ...any) diag.List {
		return diag.List{diag.Error(at, summary, format, args...)}
	}
	kinds := all.Kinds()
	i := slices.IndexFunc(kinds, func(k all.Kind) bool { return k.Name == b.Kind })
	if i < 0 {
		var names []string
		for _, k := range kinds {
			names = append(names, k.Name)
		}
		return fail("Unknown kind of backend", "There is no kind of backend %q.%s The kinds are: %s.", b.Kind, diag.DidYouMean(b.Kind, names), strings.Join(names, ", "))
	}
	out := &Backend{Kind: b.Kind, Name: b.Name, Runs: b.Runs, Trusted: b.Trusted, Preemptible: b.Often, Runtime: "sandbox", MaxJobs: b.MaxJobs, Retries: 3, Grace: 2 * time.Minute, Spare: 30 * time.Minute, Range: at}
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
		var err error
		if *d.into, err = cluster.Duration(d.name, d.text, *d.into); err != nil {
			return fail("Invalid "+d.name, "%v.", err)
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
		if found = gohcl.DecodeBody(b.Rest, nil, into); found.HasErrors() {
			return errDecoded
		}
		return nil
	})
	switch {
	case errors.Is(err, errDecoded):
		return diag.List(found)
	case err != nil:
		return fail("Invalid backend", "%s", diag.Sentence(fmt.Sprintf("backend %q: %v", b.Name, err)))
	}
	out.Backend = backend
	f.Backends = append(f.Backends, out)
	return diags
}

var errDecoded = errors.New("the block is wrong")

// Close closes the backends. Jobs go on.
func (f *File) Close() error {
	var errs []error
	for _, b := range f.Backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}
