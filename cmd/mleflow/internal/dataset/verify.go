package dataset

import (
	"context"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/competitions/verify"
)

// verify checks the prepared folder against the competition's pins.
func (j Job) verify(ctx context.Context, out *Outcome) error {
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
	}
	var work *progress.Work
	if j.Progress != nil {
		work = new(progress.Work)
		defer progress.Follow(work, j.Progress)()
	}
	report, err := verify.Run(ctx, verify.Request{Definition: j.Def, Data: verify.OnDisk(prep.DirFS(out.Path), j.Def), Work: work})
	if err != nil {
		return err
	}
	if report.Verdict == verify.Unpinned {
		out.Why = "the competition has no pins"
		return nil
	}
	out.Verified, out.Report = true, report
	out.Checked = len(j.Def.Checksums.Pinned())
	return nil
}
