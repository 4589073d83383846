package agentrun

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine/step"
)

// The submission is examined repeatedly while the agent runs. The pause between two
// looks is at least sightPause and at least sightRest times as long as the last one
// took, so that the agent keeps its processors. A submission larger than sightBytes is
// not checked.
const (
	sightPause = 2 * time.Second
	sightRest  = 50
	sightBytes = 256 << 20
)

// sight watches the submission from outside while the agent runs. It only informs
// people: the result does not depend on it, and the agent cannot notice it.
type sight struct {
	*gates
	// last is the file at the last look. checked is the file with the known verdict.
	last, checked fs.FileInfo
	state         step.Submission
	reason        string
}

// watchSubmission examines the submission until ctx ends.
func (g *gates) watchSubmission(ctx context.Context) {
	w := &sight{gates: g}
	for pause := sightPause; ; {
		if progress.Sleep(ctx, pause) != nil {
			return
		}
		began := time.Now()
		state, reason := w.look(ctx)
		if ctx.Err() != nil {
			return
		}
		g.phases.submission(state, reason)
		pause = max(sightPause, sightRest*time.Since(began))
	}
}

// look returns the submission's state. The submission is checked once two looks have
// found the same file.
func (w *sight) look(ctx context.Context) (step.Submission, string) {
	home, err := os.OpenRoot(w.dirs.home)
	if err != nil {
		return step.SubmissionNone, ""
	}
	defer home.Close()
	f, err := openSubmission(home)
	if f == nil || err != nil {
		return step.SubmissionNone, ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return step.SubmissionNone, ""
	}
	settled := w.last != nil && same(w.last, info)
	w.last = info
	switch {
	case w.checked != nil && same(w.checked, info):
		return w.state, w.reason
	case !settled || info.Size() > min(sightBytes, w.submissionBytes()):
		return step.SubmissionUnchecked, ""
	}
	return w.verdict(ctx, f, info)
}

// verdict checks a copy of the submission that the agent cannot change.
func (w *sight) verdict(ctx context.Context, f *os.File, before fs.FileInfo) (step.Submission, string) {
	dir, err := os.MkdirTemp(w.dirs.host, "sight-")
	if err != nil {
		return step.SubmissionUnchecked, ""
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "submission.csv")
	if err := copyWhole(ctx, file, f, before); err != nil {
		return step.SubmissionUnchecked, ""
	}
	found, err := w.check(ctx, file)
	if err != nil {
		return step.SubmissionUnchecked, ""
	}
	w.checked, w.state, w.reason = before, step.SubmissionValid, ""
	if found.Class != "" {
		w.state, w.reason = step.SubmissionInvalid, w.mask.Mask(found.Reason)
	}
	return w.state, w.reason
}

// copyWhole copies a file and fails if it changes meanwhile.
func copyWhole(ctx context.Context, to string, f *os.File, before fs.FileInfo) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := cache.Copy(ctx, out, io.LimitReader(f, before.Size()+1)); err != nil {
		return err
	}
	if after, err := f.Stat(); err != nil || !same(before, after) {
		return errors.Join(err, errChanging)
	}
	return out.Close()
}
