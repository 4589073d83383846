package pins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// explain describes how the first wrong files differ.
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
	right, err := v.right(ctx)
	if err != nil || right == nil {
		return compare.Difference{}, err
	}
	got := v.Data.folder.open(m.Path)
	d, err := v.withBytes(ctx, m, right, got)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cache.ErrNotFound) {
		return d, err
	}
	if v.known != nil {
		if s, ok := v.known.Files[m.Path]; ok {
			return compare.WithSummary(ctx, m.Path, s, got)
		}
	}
	return compare.Difference{}, nil
}

// withBytes compares with a file that is at hand, and says so when that is not
// the pinned one either.
func (v *verification) withBytes(ctx context.Context, m *Mismatch, right folder, got compare.Opener) (compare.Difference, error) {
	pin, pinned := v.Definition.Checksums.Pinned()[m.Path]
	sum := summed{sum: pin}
	if pinned {
		var err error
		if sum, err = sumOf(ctx, right, m.Path, pin, nil); err != nil {
			return compare.Difference{}, err
		}
		if sum.missing {
			return compare.Difference{}, fs.ErrNotExist
		}
	}
	if sum.sum == m.Got {
		return compare.Difference{Text: "the file to compare with has these bytes too, so it is not the pinned one"}, nil
	}
	d, err := compare.Files(ctx, m.Path, right.open(m.Path), got)
	if pinned && sum.sum != pin {
		d.Text = fmt.Sprintf("the file to compare with is not the pinned one either (%s); %s", sum, d.Text)
	} else if pinned {
		m.WantBytes = sum.size
	}
	return d, err
}
