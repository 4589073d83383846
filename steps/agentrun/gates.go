package agentrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

const (
	// validityPort is the port on which the reference's agents expect the server.
	validityPort = 5000
	// journalBytes limits the size of each of the two logs.
	journalBytes = 64 << 20
	// validationsFile and connectionsFile are the journals.
	validationsFile = "validation.jsonl"
	connectionsFile = "network.jsonl"
	// gatewayVariable holds the address of the validity server.
	gatewayVariable = "MLEFLOW_GATEWAY"
)

// network is the block of that name.
type network struct {
	Allow []string `cty:"allow"`
	Open  bool     `cty:"open"`
}

// gates are the servers that the agent can use.
type gates struct {
	*place
	validations, connections *service.Journal
	// evidence is the journal of the shim; nil without a shim.
	evidence *service.Journal
	services []executor.Service
	// vars are the environment variables that give the agent the addresses.
	vars map[string]string
	stop []func()
	// check checks the form of a submission.
	check func(ctx context.Context, path string) (validity.Verdict, error)
}

// openGates opens the journals, the validity server, the model gateway, and the proxy.
func openGates(ctx context.Context, p *place) (*gates, error) {
	g := &gates{place: p, vars: map[string]string{}}
	p.opened = append(p.opened, func(bool) error { return g.close() })
	var err error
	mask := p.mask.JSON
	if g.validations, err = service.OpenJournal(filepath.Join(p.dirs.host, validationsFile), journalBytes, mask); err != nil {
		return nil, err
	}
	if g.connections, err = service.OpenJournal(filepath.Join(p.dirs.host, connectionsFile), journalBytes, mask); err != nil {
		return g, err
	}
	evidence, err := g.openEvidence()
	if err != nil {
		return g, err
	}
	if g.check, err = g.form(ctx); err != nil {
		return g, err
	}
	server := validity.New(validity.Options{
		Check: g.check, Dir: p.dirs.host, MaxBytes: g.submissionBytes(),
		Budget: func() validity.Budget {
			return validity.Budget{Limit: p.limit(), Elapsed: p.elapsed()}
		},
		Record: func(c validity.Call) { g.validations.Add(c) }, Evidence: evidence,
		Checkpoint: p.points.asker(),
	})
	g.services = append(g.services, executor.Service{Name: "validity server", Port: validityPort, Env: gatewayVariable, Serve: server.Serve})
	if err := p.models.serve(ctx, g); err != nil {
		return g, fmt.Errorf("open the model gateway: %w", err)
	}
	if p.policy == nil {
		return g, nil
	}
	return g, g.openProxy(ctx, proxy.New(proxy.Options{
		Allow: p.policy, Record: func(c proxy.Conn) { g.connections.Add(c) },
	}))
}

// openProxy serves the proxy and sets the variables that name it.
func (g *gates) openProxy(ctx context.Context, p *proxy.Proxy) error {
	address, err := g.serve(ctx, "network proxy", proxy.Port, p.Serve)
	if err != nil {
		return err
	}
	maps.Copy(g.vars, proxy.Named(address))
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		g.vars[name] = "localhost,127.0.0.1,::1"
	}
	return nil
}

// serve makes a server a service of the runtime or, where the agent shares the host's
// network, serves it on the host. It returns the address for the agent.
func (g *gates) serve(ctx context.Context, name string, port int, serve func(context.Context, net.Listener) error) (address string, err error) {
	if g.runtime.Isolates {
		g.services = append(g.services, executor.Service{Name: name, Port: port, Serve: serve})
		return fmt.Sprintf("http://127.0.0.1:%d", port), nil
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var serving sync.WaitGroup
	serving.Go(func() { _ = serve(ctx, l) })
	g.stop = append(g.stop, func() { cancel(); serving.Wait() })
	return "http://" + l.Addr().String(), nil
}

// shut closes the servers that are still open, so that the logs are complete.
func (g *gates) shut() {
	for _, stop := range g.stop {
		stop()
	}
	g.stop = nil
}

func (g *gates) close() error {
	g.shut()
	var all error
	for _, j := range []*service.Journal{g.validations, g.connections, g.evidence} {
		if j != nil {
			all = errors.Join(all, j.Close())
		}
	}
	return all
}

// submissionBytes is the maximum size of a submission that the server checks. It is the
// limit for grading, or less where keeping a file of that size would be too costly.
func (g *gates) submissionBytes() int64 {
	const most = 2 << 30
	info, err := os.Stat(filepath.Join(g.dirs.host, sampleFile))
	if err != nil {
		return grading.MaxBytes(0)
	}
	return min(most, grading.MaxBytes(info.Size()))
}

// form returns the check of the validity server. At the first request it reads the
// sketch and the sample submission, and nothing else.
func (g *gates) form(ctx context.Context) (func(context.Context, string) (validity.Verdict, error), error) {
	sample, rows := filepath.Join(g.dirs.host, sampleFile), ""
	if sketch := g.args.Sketch; sketch != nil {
		rows = filepath.Join(g.dirs.host, rowsFile)
		err := errors.Join(g.placeFile(ctx, sketch.Ref, grading.SketchSample, sample), g.placeFile(ctx, sketch.Ref, grading.SketchRows, rows))
		if err != nil {
			return nil, fmt.Errorf("place sketch: %w", err)
		}
	} else if err := g.placeSample(ctx); err != nil {
		g.env.Note("no sample submission was found (%v); the validity server only checks whether a file is a table", err)
		sample = ""
	}
	check := g.deps.Grader.Form(g.def, sample, rows)
	return func(ctx context.Context, path string) (validity.Verdict, error) { return verdict(check(ctx, path)) }, nil
}

// placeFile copies a file of a tree to where only the host sees it, if it is not there.
func (g *gates) placeFile(ctx context.Context, from cache.Ref, name, dst string) error {
	if _, err := os.Stat(dst); err == nil {
		return nil
	}
	e, err := tree.Find(ctx, g.env.Store, from, name)
	if err == nil {
		_, err = tree.Materialise(ctx, g.env.Store, e.Ref(), dst, tree.Options{Mode: tree.Copy})
	}
	return err
}

// verdict converts the result of a check into the answer for the agent.
func verdict(err error) (validity.Verdict, error) {
	if bad, ok := errors.AsType[*grading.Invalid](err); ok {
		return validity.Verdict{Class: bad.Class(), Reason: bad.Reason}, nil
	}
	return validity.Verdict{}, err
}

// logs stores the journals.
func (g *gates) logs(ctx context.Context) (cache.Outputs, error) {
	out := cache.Outputs{}
	for name, file := range map[string]string{"validation_log": validationsFile, "network_log": connectionsFile} {
		f, err := nolink.Open(filepath.Join(g.dirs.host, file))
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", name, err)
		}
		ref, err := cache.Put(ctx, g.env.Store, f, cache.Ref{})
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", name, err)
		}
		out[name] = cache.Value{Ref: ref}
	}
	return out, nil
}
