package rungroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions/results"
)

// Attempt is an attempt of ours that is to be written.
type Attempt struct {
	Record
	// Agent shadows that of the record, which is for imported attempts.
	Agent, Competition string
	Outputs            cache.Outputs
}

// Origin says where attempts are from.
type Origin struct {
	Started, Ended time.Time
	// By is the run of mleflow; nil if several may have them.
	By *Writer
}

// Written is a run group that was written.
type Written struct {
	RunGroup string `json:"run_group"`
	Path     string `json:"path"`
	Runs     int    `json:"runs"`
}

// Sort sorts attempts by seed and competition, which is the order that the reference
// starts them in.
func Sort(list []Attempt) {
	slices.SortStableFunc(list, func(x, y Attempt) int {
		return cmp.Or(results.CompareSeeds(x.Seed, y.Seed), cmp.Compare(x.Competition, y.Competition))
	})
}

// WriteGroups writes attempts below a folder, a run group for each agent. A group that
// exists is an error that wraps fs.ErrExist.
func WriteGroups(ctx context.Context, c cache.Files, dir string, from Origin, list []Attempt, work *progress.Work) (groups []Written, err error) {
	var files, bytes int64
	for _, at := range list {
		f, b := at.Outputs.Content(leftByAgent...)
		files, bytes = files+f, bytes+b
	}
	work.Begin("", files, bytes)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("write run group: %w", err)
	}
	run := ""
	if from.By != nil {
		run = from.By.Run
	}
	for _, same := range lists.Grouped(list, func(at Attempt) string { return at.Agent }) {
		name := GroupName(dir, from.Started, same[0].Agent, run)
		g := Written{name, filepath.Join(dir, name), len(same)}
		if _, err := os.Lstat(g.Path); !errors.Is(err, fs.ErrNotExist) {
			return groups, fmt.Errorf("%s: %w; move it away, or write elsewhere", g.Path, fs.ErrExist)
		}
		group := Export{Dir: g.Path, Metadata: Metadata{RunGroup: name, CreatedAt: Stamp(from.Ended), Mleflow: from.By}}
		for _, at := range same {
			group.Metadata.Runs, group.Outputs = append(group.Metadata.Runs, at.Record), append(group.Outputs, at.Outputs)
		}
		if err := group.Write(ctx, c, work); err != nil {
			return groups, err
		}
		groups = append(groups, g)
	}
	return groups, nil
}
