package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/competitions/prep"
)

// Job is one competition to prepare.
type Job struct {
	Def    *competitions.Definition
	Layout Layout
	// Raw is a folder with the unpacked download; empty to use the layout's
	// own, or Fetched where that is empty.
	Raw     string
	Fetched *Fetched
	Params  map[string]cty.Value
	// Masks is the job of the version that this one masks with Salt. It is done unless
	// its folder exists.
	Masks *Job
	Salt  mask.Salt
	// KeepRaw keeps the layout's raw folder afterwards, or makes it of what
	// was fetched.
	KeepRaw bool
	// SkipVerification checks no pins.
	SkipVerification bool
	// Parallelism is how many outputs are written at once; 0 is one a
	// processor.
	Parallelism int
	Progress    func(progress.State)
}

// Outcome is what became of a job that did not fail.
type Outcome struct {
	Competition string `json:"competition"`
	// Path is the prepared folder.
	Path string `json:"path"`
	// Verified says that pins were checked; Why says why not otherwise.
	Verified bool   `json:"verified"`
	Why      string `json:"why,omitempty"`
	// Checked is the number of files whose pins were checked.
	Checked int `json:"checked"`
	// Report is the result of a verification.
	Report pins.Report `json:"report,omitzero"`
}

// Prepare makes the prepared folder of a competition from its raw one.
func Prepare(ctx context.Context, j Job) (Outcome, error) {
	out := Outcome{Competition: j.Def.ID, Path: j.Layout.Prepared(j.Def.ID)}
	if err := j.fits(); err != nil {
		return out, err
	}
	if err := j.Def.Mark(j.Layout.Competition(j.Def.ID)); err != nil {
		return out, err
	}
	if j.Masks != nil {
		return out, j.mask(ctx, &out)
	}
	raw, own, err := j.raw(ctx)
	if err != nil {
		return out, err
	}
	if err := j.run(ctx, raw, out.Path); err != nil {
		return out, err
	}
	if err := j.verify(ctx, &out); err != nil {
		return out, err
	}
	if own && !j.KeepRaw && out.Report.Verdict != pins.Differs {
		if err := os.RemoveAll(j.Layout.Raw(j.Def.ID)); err != nil {
			return out, fmt.Errorf("remove raw data: %w", err)
		}
	}
	return out, nil
}

// mask writes the masked version of the data of the job that it masks.
func (j Job) mask(ctx context.Context, out *Outcome) error {
	from := j.Masks.Layout.Prepared(j.Def.ID)
	has, err := filled(from)
	if err == nil && !has {
		of := *j.Masks
		of.Fetched, of.Parallelism, of.Progress = j.Fetched, j.Parallelism, j.Progress
		var done Outcome
		if done, err = Prepare(ctx, of); done.Report.Verdict == pins.Differs {
			*out = done
			return err
		}
	}
	if err != nil {
		return err
	}
	folder := mask.Folder{From: from, To: out.Path}
	err = folder.Write("mask", func(o mask.Options) error {
		o.Salt = j.Salt
		return mask.Run(ctx, j.Def, o)
	})
	if err != nil {
		return err
	}
	return j.verify(ctx, out)
}

// fits returns an error if the folder has real data and the job is a rehearsal, or the
// reverse, or if its data are of another version.
func (j Job) fits() error {
	dir := j.Layout.Competition(j.Def.ID)
	has, err := filled(dir)
	if err != nil || !has {
		return err
	}
	version, err := competitions.VersionOf(dir)
	if err != nil {
		return err
	}
	kind, rehearsal := "", competitions.IsRehearsal(dir)
	switch {
	case rehearsal && !j.Def.Rehearsal:
		kind = "the data of a rehearsal"
	case j.Def.Rehearsal && !rehearsal:
		kind = "other data than those of a rehearsal"
	case version != j.Def.PinsVersion():
		kind = "the data of version " + version
	default:
		return nil
	}
	return fmt.Errorf("%s has %s; name another folder with --data-dir", dir, kind)
}

func (j Job) run(ctx context.Context, raw fs.FS, final string) (err error) {
	folder, err := prep.NewFolder(final)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	err = prep.Run(ctx, j.Def, prep.Options{Raw: raw, Out: folder, Params: j.Params, Parallelism: j.Parallelism, Progress: j.Progress})
	if err != nil {
		return err
	}
	if err := folder.Publish(); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}
