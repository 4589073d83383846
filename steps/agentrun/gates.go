package agentrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
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
	gatewayVariable = acp.Gateway
	// noProxy are the addresses that agents reach without the proxy.
	noProxy = "localhost,127.0.0.1,::1"
)

// gates are the servers that the agent can use.
type gates struct {
	*place
	validations, connections *service.Journal
	// evidence is the journal of the shim; nil without a shim.
	evidence *service.Journal
	services []executor.Service
	// check checks the form of a submission.
	check func(ctx context.Context, path string) (validity.Verdict, error)
}

// openGates opens the journals, the validity server, the model gateway, and the proxy.
func openGates(ctx context.Context, p *place) (*gates, error) {
	g := &gates{place: p}
	p.opened = append(p.opened, func(bool) error { return g.close() })
	var err error
	for _, j := range []struct {
		to      **service.Journal
		file    string
		limit   int64
		present bool
	}{
		{&g.validations, validationsFile, journalBytes, true},
		{&g.connections, connectionsFile, journalBytes, true},
		{&g.evidence, evidenceFile, evidenceBytes, p.args.Shim},
	} {
		if !j.present {
			continue
		}
		if *j.to, err = service.OpenJournal(filepath.Join(p.dirs.host, j.file), j.limit, p.mask.JSON); err != nil {
			return g, err
		}
	}
	if g.check, err = g.form(ctx); err != nil {
		return g, err
	}
	if err := g.openQueries(ctx); err != nil {
		return g, fmt.Errorf("open the validation score: %w", err)
	}
	server := validity.New(validity.Options{
		Check: g.check, Dir: p.dirs.host, MaxBytes: g.submissionBytes(),
		Budget: func() validity.Budget {
			return validity.Budget{Limit: p.limit(), Elapsed: p.elapsed()}
		},
		Record: func(c validity.Call) { g.validations.Add(c) }, Evidence: g.evidenceHandler(),
		Checkpoint: p.points.asker(), Queries: p.queries,
	})
	g.services = append(g.services, executor.Service{
		Name: "validity server", Port: validityPort, Env: map[string]string{gatewayVariable: executor.Address}, Serve: server.Serve,
	})
	if err := p.models.serve(ctx, g); err != nil {
		return g, fmt.Errorf("open the model gateway: %w", err)
	}
	if p.policy != nil {
		served := proxy.New(proxy.Options{Allow: p.policy, Record: func(c proxy.Conn) { g.connections.Add(c) }}).Service()
		served.Env["NO_PROXY"], served.Env["no_proxy"] = noProxy, noProxy
		g.services = append(g.services, served)
	}
	return g, nil
}

func (g *gates) close() error {
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
	} else if err := g.placeSample(ctx, g.data().Ref, sample); err != nil {
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

// stored stores a journal and what is added to it.
func (g *gates) stored(ctx context.Context, file string, more []byte) (cache.Ref, error) {
	f, err := nolink.Open(filepath.Join(g.dirs.host, file))
	if err != nil {
		return cache.Ref{}, err
	}
	defer f.Close()
	return cache.Put(ctx, g.env.Store, io.MultiReader(f, bytes.NewReader(more)), cache.Ref{})
}

// sampleFile is a copy of the sample submission that the agent does not see. The agent
// may change its own copy.
const sampleFile = "sample.csv"

// rowsFile is a copy of the sketch, which the agent does not see either.
const rowsFile = "sketch.csv"

// maxSample limits the size of a sample submission.
const maxSample = 4 << 30

var errNoSample = errors.New("the data contains none")

// placeSample copies the sample submission of public data to where the check reads it. The
// definition names it. If the definition names only a private one, it is the file or
// archive in the data whose name is that of a sample submission.
func (g *gates) placeSample(ctx context.Context, from cache.Ref, dst string) error {
	if _, err := os.Stat(dst); err == nil {
		return nil
	}
	name, entry, err := g.findSample(ctx, from)
	if err != nil {
		return err
	}
	file := dst + "-" + filepath.Base(name)
	if _, err := tree.Materialise(ctx, g.env.Store, entry.Ref(), file, tree.Options{Mode: tree.Copy}); err != nil {
		return err
	}
	if strings.EqualFold(filepath.Ext(name), ".csv") {
		return os.Rename(file, dst)
	}
	return unpackSample(ctx, file, dst)
}

// findSample returns the sample among public data.
func (g *gates) findSample(ctx context.Context, from cache.Ref) (string, tree.Entry, error) {
	if name, ok := strings.CutPrefix(g.def.Layout.Sample, "public/"); ok {
		entry, err := tree.Find(ctx, g.env.Store, from, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return name, entry, err
		}
	}
	entries, err := tree.Read(ctx, g.env.Store, from)
	if err != nil {
		return "", tree.Entry{}, err
	}
	i := slices.IndexFunc(entries, func(e tree.Entry) bool { return !e.IsDir() && sampleLike(e.Name) })
	if i < 0 {
		return "", tree.Entry{}, errNoSample
	}
	return entries[i].Name, entries[i], nil
}

// sampleLike reports whether a file has the name of a sample submission.
func sampleLike(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
	return strings.Contains(plain, "samplesubmission") && (strings.HasSuffix(plain, ".csv") || archive.FormatOf(name) != "")
}

// unpackSample extracts the only table from an archive.
func unpackSample(ctx context.Context, file, dst string) error {
	found, err := archive.FirstCSV(ctx, file, func(name string, r io.Reader) error {
		out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer out.Close()
		if n, err := io.Copy(out, io.LimitReader(r, maxSample+1)); err != nil || n > maxSample {
			return errors.Join(err, fmt.Errorf("unpack %s: too large or damaged", name))
		}
		return out.Close()
	})
	if err == nil && !found {
		err = errNoSample
	}
	return err
}

// evidenceFile is the shim's journal, which the agent does not see. Beyond
// evidenceBytes, entries are only counted.
const evidenceFile = "shim.jsonl"

const evidenceBytes = 4 << 20
