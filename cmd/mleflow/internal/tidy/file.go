package tidy

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// FromBundle returns the records of a bundle that was examined, with a standing.
func FromBundle(ctx context.Context, b *bundle.Bundle, x *bundle.Examined, catalog *competitions.Catalog, standing string) ([]export.Record, []Left, error) {
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
	})
}

// FromFile returns the records of a file of reports or of a leaderboard, in the
// order of the file.
func FromFile(path string, catalog *competitions.Catalog) ([]export.Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var b aggregate.Board
	if json.Unmarshal(text, &b) == nil && len(b.Entries) > 0 {
		list := make([]export.Record, len(b.Entries))
		for i, e := range b.Entries {
			FromReport(&list[i], grading.Graded{Report: e.Report, Labels: e.Labels}, catalog)
			list[i].Agent, list[i].Seed, list[i].Standing = e.Agent, e.Seed, Reported
			if e.Attempt != nil {
				list[i].Attempt = *e.Attempt
			}
		}
		return list, nil
	}
	f, err := board.ReadPaths([]string{path})
	if err != nil {
		return nil, err
	}
	list := make([]export.Record, len(f.Reports))
	for i, g := range f.Reports {
		list[i].Standing = Reported
		FromReport(&list[i], g, catalog)
	}
	return list, nil
}
