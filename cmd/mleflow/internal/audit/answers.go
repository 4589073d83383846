package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/verify"
	"github.com/mleflow/mleflow/engine/step"
)

// Data is where a verifier's own answers are.
type Data struct {
	Cache cache.Cache
	// Dir is a folder with prepared data, or empty for what was prepared in
	// the cache.
	Dir string
	// Ran reports whether a run was done here: records come from elsewhere,
	// too.
	Ran func(run string) bool
}

// answers are the private files of a competition that the verifier trusts.
type answers struct {
	private cache.Ref
	// how says where they are from and what they were compared with.
	how string
}

// noAnswers is the error that the verifier has none; its text says why.
type noAnswers struct{ error }

func (e noAnswers) Unwrap() error { return e.error }

// answersOf finds the verifier's own answers for a chain.
func (a *audit) answersOf(ctx context.Context, l chain) (answers, error) {
	if a.Data == nil {
		return answers{}, noAnswers{errors.New("there are no answers on this machine")}
	}
	def, err := a.definition(l)
	if err != nil {
		return answers{}, err
	}
	if a.Data.Dir != "" {
		return a.fromFolder(ctx, def, l)
	}
	return a.fromCache(ctx, def, l)
}

func (a *audit) definition(l chain) (*competitions.Definition, error) {
	def, err := a.Catalog.Get(l.competition)
	if err == nil {
		def, err = def.At(l.version)
	}
	return def, err
}

func (a *audit) fromFolder(ctx context.Context, def *competitions.Definition, l chain) (answers, error) {
	data := a.Data.Dir
	if competitions.IsMasked(l.version) { // beside those of the version itself
		data = filepath.Join(data, l.version)
	}
	dir := dataset.Layout{Dir: data}.Prepared(def.ID)
	if _, err := os.Stat(filepath.Join(dir, "private")); err != nil && data != a.Data.Dir {
		return answers{}, noAnswers{fmt.Errorf("%w; with the salt, once it is published, mleflow mask data %s --salt FILE --data-dir %s -o %s writes them", err, def.ID, a.Data.Dir, data)}
	}
	if _, err := os.Stat(filepath.Join(dir, "private")); err != nil {
		return answers{}, noAnswers{err}
	}
	private, err := tree.Import(ctx, a.Data.Cache, filepath.Join(dir, "private"), tree.ImportOptions{})
	if err != nil {
		return answers{}, fmt.Errorf("take answers of %s from %s: %w", def.ID, data, err)
	}
	how, err := a.pins(ctx, def, l, private, verify.OnDisk(os.DirFS(dir), def))
	return answers{private, "prepared in " + data + ", " + how}, err
}

// fromCache computes the actions of download and prepare, each from what the
// one before gave here, and takes what they gave.
func (a *audit) fromCache(ctx context.Context, def *competitions.Definition, l chain) (answers, error) {
	raw, err := a.ranHere(ctx, l.download)
	if err != nil {
		return answers{}, err
	}
	was := a.records[l.download]
	a.Program.SetOutputs(l.download, raw.Outputs)
	prepared, err := a.ranHere(ctx, l.prepare)
	if was != nil {
		a.Program.SetOutputs(l.download, was.Outputs)
	}
	if err != nil {
		return answers{}, err
	}
	public, private := prepared.Outputs["public"].Ref, prepared.Outputs["private"].Ref
	data, err := verify.InStore(ctx, a.Data.Cache, public, private)
	if err != nil {
		return answers{}, err
	}
	how, err := a.pins(ctx, def, l, private, data)
	return answers{private, "prepared in this cache, " + how}, err
}

// ranHere returns what a step gave in this cache.
func (a *audit) ranHere(ctx context.Context, i int) (*cache.Record, error) {
	at := a.Program.Instances[i].Addr
	h, err := a.key(i)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	rec, err := a.Data.Cache.Lookup(ctx, h.Sum())
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, noAnswers{fmt.Errorf("%s was not run in this cache; prepare the data and name the folder with --data-dir", at)}
	case err != nil:
		return nil, err
	case !a.Data.Ran(rec.Run):
		return nil, noAnswers{fmt.Errorf("the outputs of %s were made elsewhere; prepare the data yourself and name the folder with --data-dir", at)}
	}
	return rec, nil
}

// pins compares the verifier's own data with the pins of his definition, and
// says with which.
func (a *audit) pins(ctx context.Context, def *competitions.Definition, l chain, private cache.Ref, data *verify.Data) (string, error) {
	only := *def
	if a.altered(l.prepare) {
		return "not checked, since the pins apply only to the default parameters", nil
	}
	if len(def.Checksums.Private) > 0 {
		// The public half is not graded with, and may be terabytes.
		only.Checksums = competitions.Checksums{Private: def.Checksums.Private}
	} else if a.manifest(l, def) && a.recorded(l.prepare, "private") == private {
		return "matching the manifest's pins", nil
	}
	report, err := verify.Run(ctx, verify.Request{Definition: &only, Data: data})
	switch {
	case err != nil:
		return "", err
	case report.Verdict == verify.Differs:
		return "", step.Mismatch(fmt.Errorf("the answers of %s on this machine do not match the pins of its definition: %s", def.ID, strings.Join(report.Lines(1), "")))
	case report.Verdict == verify.Unpinned:
		return "not checked, since the definition has no pins", nil
	}
	return "matching the definition's pins", nil
}

// recorded is content that a step gave by its record.
func (a *audit) recorded(i int, output string) cache.Ref {
	if rec := a.records[i]; rec != nil {
		return rec.Outputs[output].Ref
	}
	return cache.Ref{}
}

// manifest reports whether the recorded data of a chain have the digest that
// the verifier's definition pins for all files. That needs no data.
func (a *audit) manifest(l chain, def *competitions.Definition) bool {
	id, err := manifestOf(a.recorded(l.prepare, "public"), a.recorded(l.prepare, "private"))
	return err == nil && id.String() == def.Checksums.Manifest
}

// manifestOf is the digest of the folder that holds both halves.
func manifestOf(public, private cache.Ref) (digest.ContentID, error) {
	if public.Kind != cache.Tree || private.Kind != cache.Tree {
		return digest.ContentID{}, errors.New("prepared data are not two trees")
	}
	_, ref, err := tree.Encode([]tree.Entry{tree.NewEntry("private", private, false), tree.NewEntry("public", public, false)})
	return ref.ID, err
}
