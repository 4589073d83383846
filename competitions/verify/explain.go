package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/mleflow/mleflow/plugins/data/compare"
)

// explain says how the first wrong files differ.
func (v *verification) explain(ctx context.Context) error {
	explained := 0
	for i := range v.report.Mismatches {
		m := &v.report.Mismatches[i]
		if m.Problem != Wrong || m.Explanation != "" || explained == maxExplained {
			continue
		}
		explained++
		d, err := v.difference(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the data were read before: it is what they are compared with
			d.Text = fmt.Sprintf("no more is known: %v", err)
		}
		m.SameContent, m.Explanation = d.Same, d.Text
		if d.Text == "" && path.Ext(m.Path) == ".parquet" {
			m.Explanation = v.parquet(ctx, m)
		}
	}
	return nil
}

// difference compares a wrong file with the best there is.
func (v *verification) difference(ctx context.Context, m *Mismatch) (compare.Difference, error) {
	got := v.Data.folder.open(m.Path)
	expected, err := v.right1(ctx)
	if err != nil {
		return compare.Difference{}, err
	}
	if expected != nil {
		d, err := v.withExpected(ctx, m, expected, got)
		if !errors.Is(err, fs.ErrNotExist) {
			return d, err
		}
	}
	if want := v.stored(ctx); want != nil {
		if n, err := want.identity(ctx, m.Path); err == nil && !n.dir && has(ctx, v.Store, n) {
			m.WantBytes = n.size
			return compare.Files(ctx, m.Path, want.open(m.Path), got)
		}
	}
	if v.known == nil {
		return compare.Difference{Text: ""}, nil
	}
	if known := (knownFolder{v.known, v.Store}); known.holds(ctx, m.Path) {
		return compare.Files(ctx, m.Path, known.open(m.Path), got)
	}
	if s, ok := v.known.Files[m.Path]; ok {
		return compare.WithSummary(ctx, m.Path, s, got)
	}
	return compare.Difference{}, nil
}

// withExpected compares with a file of the expected folder, and says so when
// that is not the pinned one either.
func (v *verification) withExpected(ctx context.Context, m *Mismatch, expected folder, got compare.Opener) (compare.Difference, error) {
	pin, pinned := v.Definition.Checksums.Pinned()[m.Path]
	sum := summed{sum: pin}
	if pinned {
		var err error
		if sum, err = sumOf(ctx, expected, m.Path, pin); err != nil {
			return compare.Difference{}, err
		}
		if sum.missing {
			return compare.Difference{}, fs.ErrNotExist
		}
	}
	if sum.sum == m.Got {
		return compare.Difference{Text: "the file to compare with has these bytes too, so it is not the pinned one"}, nil
	}
	d, err := compare.Files(ctx, m.Path, expected.open(m.Path), got)
	if pinned && sum.sum != pin {
		d.Text = fmt.Sprintf("the file to compare with is not the pinned one either (%s); %s", sum, d.Text)
	} else if pinned {
		m.WantBytes = sum.size
	}
	return d, err
}
