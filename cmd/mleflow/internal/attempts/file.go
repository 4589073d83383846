package attempts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// FromBundle returns the records of a bundle that was examined, with a standing.
func FromBundle(ctx context.Context, b *bundle.Bundle, x *bundle.Examined, catalog *competitions.Catalog, standing string) ([]*results.Attempt, []Left, error) {
	store, err := b.Store(nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.Plan()
	if err != nil {
		return nil, nil, err
	}
	return Collect(ctx, Run{
		ID: x.Run.ID, Pipeline: x.Run.Pipeline, Version: x.Run.Version, Started: x.Run.Started, About: x.Run.About, Steps: x.Summary.Steps,
		Plan: p, Store: store, Index: store, Catalog: catalog, Standing: standing,
		Tried: func(map[string]*cache.Record) *bundle.Chain { return x.Chain },
	})
}

// FromFile returns the records of a file of reports or of a leaderboard, in the
// order of the file.
func FromFile(path string, catalog *competitions.Catalog) ([]*results.Attempt, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	list := []*results.Attempt{}
	add := func(g grading.Graded) *results.Attempt {
		a := &results.Attempt{Standing: Reported}
		enter(a, g, catalog)
		list = append(list, a)
		return a
	}
	var b aggregate.Board
	if json.Unmarshal(text, &b) == nil && len(b.Entries) > 0 {
		for _, e := range b.Entries {
			a := add(grading.Graded{Report: e.Report, Labels: e.Labels})
			if a.Agent, a.Seed = e.Agent, e.Seed; e.Attempt != nil {
				a.Made = *e.Attempt
			}
		}
		return list, nil
	}
	f, err := board.ReadPaths([]string{path})
	if err != nil {
		return nil, err
	}
	for _, g := range f.Reports {
		add(g)
	}
	return list, nil
}
