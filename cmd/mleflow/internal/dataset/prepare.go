package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/competitions/program"
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
	// Description, if set, returns the text of public/description.md; nil without one.
	Description func() ([]byte, error)
	// Parallelism is how many outputs are written at once; 0 is one a
	// processor.
	Parallelism int
	Progress    func(progress.State)
	// Machine runs definitions that are prepared by their own Python.
	Machine program.Machine
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
	// Report is the result of a verification. Data that differ from the pins replace no
	// earlier ones.
	Report pins.Report `json:"report,omitzero"`
	// Kept says that the earlier data are still there.
	Kept bool `json:"kept,omitempty"`
}

// Prepare makes the prepared folder of a competition from its raw one. Earlier data stay
// unless all of it succeeds.
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
	err = j.write(ctx, &out, func(folder *prep.Folder) error {
		o := prep.Options{Raw: raw, Out: folder, Params: j.Params, Parallelism: j.Parallelism, Progress: j.Progress}
		o.Python = prep.Python{Machine: j.Machine, Raw: j.rawFolder}
		return prep.Run(ctx, j.Def, o)
	})
	if err != nil {
		return out, err
	}
	if folder := j.Layout.Raw(j.Def.ID); own && !j.KeepRaw && out.Report.Verdict != pins.Differs && nolink.IsMine(folder) {
		if err := os.RemoveAll(folder); err != nil {
			return out, fmt.Errorf("remove raw data: %w", err)
		}
	}
	return out, nil
}

// write makes the prepared folder with the files that fill writes, once they have been
// checked and described.
func (j Job) write(ctx context.Context, out *Outcome, fill func(*prep.Folder) error) (err error) {
	folder, err := prep.NewFolder(out.Path)
	if err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	defer func() { err = errors.Join(err, folder.Discard()) }()
	if err := fill(folder); err != nil {
		return err
	}
	if err := j.verify(ctx, folder.Dir(), out); err != nil {
		return err
	}
	if out.Kept = out.Report.Verdict == pins.Differs && folder.Replaces(); out.Kept {
		return nil
	}
	if err := j.describe(folder.Dir()); err != nil {
		return err
	}
	if err := folder.Publish(); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}

func (j Job) describe(dir string) error {
	if j.Description == nil {
		return nil
	}
	text, err := j.Description()
	if err != nil || text == nil {
		return err
	}
	return wholefile.Replace(filepath.Join(dir, "public", "description.md"), wholefile.Bytes(text))
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
	return j.write(ctx, out, func(folder *prep.Folder) error {
		o := mask.Folder{From: from}.Options(folder)
		o.Salt = j.Salt
		return mask.Run(ctx, j.Def, o)
	})
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

// Layout is a data folder.
type Layout struct{ Dir string }

// At is the data folder for the data of a definition's version.
func (l Layout) At(def *competitions.Definition) Layout {
	if v := def.PinsVersion(); v != "v1" {
		return Layout{filepath.Join(l.Dir, v)}
	}
	return l
}

// Competition is a competition's folder.
func (l Layout) Competition(id string) string { return filepath.Join(l.Dir, id) }

// Raw is the path of a competition's unpacked download.
func (l Layout) Raw(id string) string { return filepath.Join(l.Dir, id, "raw") }

// Prepared is the path of a competition's public and private folders.
func (l Layout) Prepared(id string) string { return filepath.Join(l.Dir, id, "prepared") }

// filled reports whether a folder has something in it.
func filled(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", dir, err)
	}
	return len(entries) > 0, nil
}

// Fetched is raw data in a cache.
type Fetched struct {
	Store cache.Files
	Tree  cache.Ref
}

// errNoRaw says that there is no raw data and nobody fetched any.
var errNoRaw = errors.New("no raw data")

// NeedsRaw reports whether the raw data has to be fetched: none is named, and
// the layout has none. It has not if Prepare refuses the folder.
func (j Job) NeedsRaw() (bool, error) {
	if j.Masks != nil {
		has, err := filled(j.Masks.Layout.Prepared(j.Def.ID))
		if err != nil || has {
			return false, err
		}
		return j.Masks.NeedsRaw()
	}
	if j.Raw != "" || j.fits() != nil {
		return false, nil
	}
	has, err := filled(j.Layout.Raw(j.Def.ID))
	return !has, err
}

// raw returns the unpacked download: the given folder, the layout's if it
// holds something, else what was fetched. own says that it is the layout's.
func (j Job) raw(ctx context.Context) (raw fs.FS, own bool, err error) {
	if j.Raw != "" {
		if has, err := filled(j.Raw); err != nil {
			return nil, false, err
		} else if !has {
			return nil, false, fmt.Errorf("the raw folder %s is empty or missing", j.Raw)
		}
		return prep.DirFS(j.Raw), false, nil
	}
	dir := j.Layout.Raw(j.Def.ID)
	if has, err := filled(dir); err != nil || has {
		return prep.DirFS(dir), true, err
	}
	if j.Fetched == nil {
		return nil, false, fmt.Errorf("%w: name a folder with --raw, or put it at %s", errNoRaw, dir)
	}
	if err := j.checkFetched(ctx); err != nil {
		return nil, false, err
	}
	if !j.KeepRaw {
		return tree.NewFS(ctx, j.Fetched.Store, j.Fetched.Tree), false, nil
	}
	if err := j.materialise(ctx, dir); err != nil {
		return nil, false, err
	}
	return prep.DirFS(dir), true, nil
}

// rawFolder is the folder of raw.
func (j Job) rawFolder(ctx context.Context) (dir string, release func() error, err error) {
	none := func() error { return nil }
	if j.Raw != "" {
		return j.Raw, none, nil
	}
	if has, err := filled(j.Layout.Raw(j.Def.ID)); err != nil || has {
		return j.Layout.Raw(j.Def.ID), none, err
	}
	above := j.Layout.Competition(j.Def.ID)
	if dir, err = os.MkdirTemp(above, ".raw-"); err != nil {
		return "", none, fmt.Errorf("make folder: %w", err)
	}
	release = func() error { return tree.Remove(dir) }
	_, err = tree.Materialise(ctx, j.Fetched.Store, j.Fetched.Tree, filepath.Join(dir, "raw"), tree.Options{})
	return filepath.Join(dir, "raw"), release, err
}

// checkFetched refuses prepared data instead of raw data.
func (j Job) checkFetched(ctx context.Context) error {
	names, err := fs.ReadDir(tree.NewFS(ctx, j.Fetched.Store, j.Fetched.Tree), ".")
	if err != nil {
		return fmt.Errorf("read raw data: %w", err)
	}
	if len(names) == 1 && names[0].Name() == "prepared" && names[0].IsDir() {
		return errors.New("there are prepared data but no raw data; to use the prepared data, name their data directory with --data-dir")
	}
	return nil
}

// materialise writes the raw data, which hold the answers, as files of their own, which
// may be changed without harm to the cache; where the file system can, they share its
// blocks.
func (j Job) materialise(ctx context.Context, dir string) error {
	if err := nolink.MkdirAll(nolink.Folder(filepath.Dir(dir)), 0o777); err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	_, err := tree.Materialise(ctx, j.Fetched.Store, j.Fetched.Tree, dir, tree.Options{Mode: tree.Copy, Writable: true, OwnerOnly: true, Progress: func(r tree.Result) {
		if j.Progress != nil {
			j.Progress(progress.State{What: "copying raw data", Files: r.Files, TotalFiles: j.Fetched.Tree.Files, Bytes: r.Bytes, TotalBytes: j.Fetched.Tree.Size})
		}
	}})
	if err == nil {
		err = nolink.ShareAll(dir)
	}
	if err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	return nil
}

// verify checks prepared files against the competition's pins.
func (j Job) verify(ctx context.Context, dir string, out *Outcome) error {
	missing := j.Def.LockMissing()
	switch {
	case j.Def.Rehearsal:
		out.Why = "the data are those of a rehearsal"
		return nil
	case j.SkipVerification:
		out.Why = "not asked for"
		return nil
	case len(j.Params) > 0:
		out.Why = "the pins apply only to the default parameters"
		return nil
	case missing != nil: // the data are there to be pinned
		out.Why = missing.Error()
		return nil
	}
	var work *progress.Work
	if j.Progress != nil {
		work = new(progress.Work)
		defer progress.Follow(work, j.Progress)()
	}
	report, err := pins.Run(ctx, pins.Request{Definition: j.Def, Data: pins.OnDisk(prep.DirFS(dir), j.Def), Work: work})
	if err != nil {
		return err
	}
	if report.Verdict == pins.Unpinned {
		out.Why = "the competition has no pins"
		return nil
	}
	out.Verified, out.Report = true, report
	out.Checked = len(j.Def.Checksums.Pinned())
	return nil
}
