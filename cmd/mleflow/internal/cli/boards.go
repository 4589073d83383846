package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/results"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/tidy"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// grades reads reports from the cache of this machine while a run goes on, and draws
// a leaderboard of them.
func (a *app) grades(ctx context.Context, c cache.Store) *view.Grades {
	return &view.Grades{
		Read: func(e event.StepFinished) (g grading.Graded, ok bool) {
			_, sum, _ := strings.Cut(e.Outputs["report"], ":")
			id, err := digest.ParseContentID(sum)
			if err == nil {
				g, err = tidy.ReadReport(ctx, c, id)
			}
			return g, err == nil
		},
		Draw: func(reports []grading.Graded, width int) string {
			b, err := a.boardOf(reports)
			if err != nil {
				return err.Error()
			}
			return b.Summary(width)
		},
	}
}

func (a *app) boardOf(reports []grading.Graded) (*aggregate.Board, error) {
	catalog, err := a.catalog()
	if err != nil {
		return nil, err
	}
	return aggregate.BoardOf(reports, catalog)
}

// fullBoards gives the leaderboards among the outputs of a run all of their tables.
func (a *app) fullBoards(ctx context.Context, past *ledger.Past, sum *ledger.Summary) error {
	return a.withResults(past, func(c resultCache) error {
		src := &results.Source{Store: c, Index: c, Run: sum}
		for i := range sum.Steps {
			s := &sum.Steps[i]
			var table string
			if s.Kind != "aggregate" || json.Unmarshal([]byte(s.Outputs["table"]), &table) != nil {
				continue
			}
			text, err := boardText(ctx, src, s.Address)
			if err != nil {
				return fmt.Errorf("read the leaderboard of %s: %w", s.Address, err)
			}
			for k := range sum.Outputs {
				if o := &sum.Outputs[k]; o.IsString && table != "" {
					o.Value = strings.ReplaceAll(o.Value, table, string(text))
				}
			}
		}
		return nil
	})
}

func boardText(ctx context.Context, src *results.Source, address string) ([]byte, error) {
	rec, err := src.Record(ctx, address)
	if err != nil {
		return nil, err
	}
	e, err := tree.Find(ctx, src.Store, rec.Outputs["files"].Ref, "board.txt")
	if err != nil {
		return nil, err
	}
	return cache.Get(ctx, src.Store, e.Ref().ID, maxReport)
}

// next says what a person may do after a run that did something.
func (a *app) next(ran *ledger.Past) error {
	lines := []string{"mleflow ui                     shows it in a browser"}
	ledgerOf, err := a.openLedger()
	if err != nil {
		return err
	}
	ids, err := ledgerOf.IDs()
	if err != nil {
		return err
	}
	if len(ids) > 1 && ids[0] == ran.Info.ID {
		if before, err := ledgerOf.Open(ids[1]); err == nil && before.Info.Pipeline == ran.Info.Pipeline {
			lines = append(lines, "mleflow diff latest~1 latest   compares it with the last run")
		}
	}
	for i, line := range lines {
		fmt.Fprintf(a.stderr, "%-5s %s\n", []string{"Next:", ""}[i], a.errStyle().Dim(line))
	}
	return nil
}
