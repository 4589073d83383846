package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/engine/step"
)

// Data is the place of a verifier's own answers.
type Data struct {
	Cache cache.Cache
	// Dir is a folder with prepared data; empty for the data prepared in the cache.
	Dir string
	// Ran reports whether a run was executed here. Records may come from elsewhere.
	Ran func(run string) bool
	// own are the data of Dir that have been read.
	own sync.Map
}

// answers are the data of a competition that the verifier trusts.
type answers struct {
	private cache.Ref
	// how describes their origin and the data that they were compared with.
	how string
	// half is the public half. If it is zero, it is read from data, or lacks gives the
	// reason why there is none.
	half  cache.Ref
	data  *pins.Data
	lacks error
}

// public returns the files that agents should have been given. Reading them may take
// long.
func (o *answers) public(ctx context.Context) (_ cache.Ref, err error) {
	if o.lacks != nil {
		return cache.Ref{}, noAnswers{o.lacks}
	}
	if o.half.IsZero() {
		o.half, err = o.data.Half(ctx, "public")
	}
	return o.half, err
}

// noAnswers means that the verifier has no answers; its text says why.
type noAnswers struct{ error }

func (e noAnswers) Unwrap() error { return e.error }

// answersOf finds the verifier's own answers for a chain.
func (a *verifier) answersOf(ctx context.Context, l chain) (*answers, error) {
	if a.Data == nil {
		return nil, noAnswers{errors.New("there are no answers on this machine")}
	}
	def, err := a.definition(l)
	if err != nil {
		return nil, err
	}
	if a.Data.Dir == "" {
		own, err := a.fromCache(ctx, def, l)
		return &own, err
	}
	key := fmt.Sprint(def.ID, " ", l.version, a.altered(l.prepare), l.split >= 0)
	if own, done := a.Data.own.Load(key); done {
		return own.(*answers), nil
	}
	own, err := a.fromFolder(ctx, def, l)
	if err == nil {
		a.Data.own.Store(key, &own)
	}
	return &own, err
}

func (a *verifier) definition(l chain) (*competitions.Definition, error) {
	return conditions.Definition(a.Catalog, l.competition, l.version, a.Program.Conditions(l.grade))
}

// fromFolder takes prepared data. If a half of them is missing, it prepares the raw data.
func (a *verifier) fromFolder(ctx context.Context, def *competitions.Definition, l chain) (answers, error) {
	data := a.Data.Dir
	if def.Rehearsal {
		data = filepath.Join(data, conditions.Rehearsal)
	}
	from := data
	below := dataset.Layout{Dir: data}.At(def)
	if _, err := os.Stat(below.Competition(def.ID)); err == nil || def.Masked() {
		data = below.Dir
	}
	if !def.Rehearsal && competitions.IsRehearsal(filepath.Join(data, def.ID)) {
		return answers{}, noAnswers{fmt.Errorf("your data of %s are those of a rehearsal", def.ID)}
	}
	layout := dataset.Layout{Dir: data}
	dir := layout.Prepared(def.ID)
	_, err := os.Stat(filepath.Join(dir, "private"))
	_, lacks := os.Stat(filepath.Join(dir, "public"))
	if job := (dataset.Job{Def: def, Raw: layout.Raw(def.ID), SkipVerification: true}); err != nil || lacks != nil {
		if _, err := os.Stat(job.Raw); err == nil {
			return a.fromRaw(ctx, job, l)
		}
	}
	switch {
	case err != nil && def.Masked():
		return answers{}, noAnswers{fmt.Errorf("%w; with the salt, once it is published, mleflow mask data %s --salt FILE --data-dir %s -o %s writes them", err, def.ID, from, data)}
	case err != nil:
		return answers{}, noAnswers{err}
	}
	own, err := a.taken(ctx, def, l, dir)
	if own.how = "prepared in " + data + ", " + own.how; lacks != nil {
		// This text is shown on a board, which must not say where the data are.
		own.lacks = fmt.Errorf("there is no folder %s/prepared/public among your data; prepare them again, or put the raw data into %[1]s/raw", def.ID)
	}
	return own, err
}

// fromRaw prepares raw data in a folder of its own, which is removed.
func (a *verifier) fromRaw(ctx context.Context, job dataset.Job, l chain) (own answers, err error) {
	dir, err := a.Data.Cache.TempDir("verify-prepare")
	if err != nil {
		return own, fmt.Errorf("make a folder to prepare %s in: %w", job.Def.ID, err)
	}
	defer func() { err = errors.Join(err, tree.Remove(dir)) }()
	job.Layout.Dir = dir
	done, err := dataset.Prepare(ctx, job)
	if err != nil {
		return own, fmt.Errorf("prepare %s: %w", job.Def.ID, err)
	}
	if own, err = a.taken(ctx, job.Def, l, done.Path); err == nil {
		own.how = "prepared here from " + job.Raw + ", " + own.how
		own.half, err = own.public(ctx)
	}
	return own, err
}

// taken takes the private half of a folder with both.
func (a *verifier) taken(ctx context.Context, def *competitions.Definition, l chain, dir string) (own answers, err error) {
	own.data = pins.OnDisk(os.DirFS(dir), def)
	if own.private, err = tree.Import(ctx, a.Data.Cache, filepath.Join(dir, "private"), tree.ImportOptions{}); err != nil {
		return own, fmt.Errorf("take answers of %s from %s: %w", def.ID, dir, err)
	}
	if _, lacks := os.Stat(filepath.Join(dir, "public")); l.split >= 0 && lacks == nil { // it is split again
		if own.half, err = tree.Import(ctx, a.Data.Cache, filepath.Join(dir, "public"), tree.ImportOptions{Skip: pins.Beside(def)}); err != nil {
			return own, fmt.Errorf("take public files of %s from %s: %w", def.ID, dir, err)
		}
	}
	own.how, err = a.pins(ctx, def, l, own)
	return own, err
}

// fromCache computes the actions of download and prepare, each from the outputs of the
// one before in this cache, and takes their outputs.
func (a *verifier) fromCache(ctx context.Context, def *competitions.Definition, l chain) (own answers, err error) {
	raw, err := a.ranHere(ctx, l.download)
	if err != nil {
		return own, err
	}
	was := a.records[l.download]
	a.Program.SetOutputs(l.download, raw.Outputs)
	prepared, err := a.ranHere(ctx, l.prepare)
	if was != nil {
		a.Program.SetOutputs(l.download, was.Outputs)
	}
	if err != nil {
		return own, err
	}
	own.half, own.private = prepared.Outputs["public"].Ref, prepared.Outputs["private"].Ref
	if own.data, err = pins.InStore(ctx, a.Data.Cache, own.half, own.private); err != nil {
		return own, err
	}
	own.lacks = a.foreign(def, l, raw)
	own.how, err = a.pins(ctx, def, l, own)
	own.how = "prepared in this cache, " + own.how
	return own, err
}

// foreign returns an error if the pipeline brought its own raw data. Nothing shows that
// these are the competition's: the author of the pipeline may have written them.
func (a *verifier) foreign(def *competitions.Definition, l chain, raw *cache.Record) error {
	if a.argument(l.download, "from").IsNull() && a.argument(l.download, "source").IsNull() {
		return nil
	}
	type file struct{ MD5, SHA256 string }
	var files []file
	_ = json.Unmarshal(raw.Outputs["files"].JSON, &files)
	unknown := func(f file) bool {
		return !slices.ContainsFunc(def.Sources, func(s competitions.Source) bool {
			return s.SHA256 != "" && s.SHA256 == f.SHA256 || s.MD5 != "" && s.MD5 == f.MD5
		})
	}
	if len(files) > 0 && !slices.ContainsFunc(files, unknown) {
		return nil
	}
	return fmt.Errorf("%s takes raw data from a source of the pipeline, and they have none of the pins of %s; prepare the data yourself and name the folder with --data-dir", a.address(l.download), def.ID)
}

// ranHere returns the outputs of a step in this cache.
func (a *verifier) ranHere(ctx context.Context, i int) (*cache.Record, error) {
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
	if err := a.Program.Instances[i].Step.Kind.CheckOutputs(rec.Outputs); err != nil {
		return nil, noAnswers{fmt.Errorf("the result of %s in this cache cannot be used: %w", at, err)}
	}
	return rec, nil
}

// pins compares the verifier's own data with the pins of his definition and names the
// pins. The public half is not used for grading and may have terabytes. If it is needed,
// it is compared with the agent's data.
func (a *verifier) pins(ctx context.Context, def *competitions.Definition, l chain, own answers) (string, error) {
	only := *def
	if a.altered(l.prepare) {
		return "not checked, since the pins apply only to the default parameters", nil
	}
	if len(def.Checksums.Private) > 0 {
		only.Checksums = competitions.Checksums{Private: def.Checksums.Private}
	}
	report, err := pins.Run(ctx, pins.Request{Definition: &only, Data: own.data})
	switch {
	case err != nil:
		return "", err
	case report.Verdict == pins.Differs:
		return "", step.Mismatch(fmt.Errorf("the answers of %s on this machine do not match the pins of its definition: %s", def.ID, strings.Join(report.Lines(1), "")))
	case report.Verdict == pins.Unpinned:
		return "not checked, since the definition has no pins", nil
	}
	return "matching the definition's pins", nil
}

// recorded is the content of a step's output by its record.
func (a *verifier) recorded(i int, output string) cache.Ref {
	if rec := a.records[i]; rec != nil {
		return rec.Outputs[output].Ref
	}
	return cache.Ref{}
}

// manifest reports whether the recorded data of a chain have the digest that
// the verifier's definition pins for all files. That needs no data.
func (a *verifier) manifest(l chain, def *competitions.Definition) bool {
	public, private := a.recorded(l.prepare, "public"), a.recorded(l.prepare, "private")
	if public.Kind != cache.Tree || private.Kind != cache.Tree {
		return false
	}
	_, ref, err := tree.Encode([]tree.Entry{tree.NewEntry("private", private, false), tree.NewEntry("public", public, false)})
	return err == nil && ref.ID.String() == def.Checksums.Manifest
}
