package dataset

import (
	"context"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/competitions/prep"
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
	report, err := pins.Run(ctx, pins.Request{Definition: j.Def, Data: pins.OnDisk(prep.DirFS(out.Path), j.Def), Work: work})
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
