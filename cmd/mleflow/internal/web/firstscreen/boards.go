package firstscreen

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Boards are the leaderboards of a run.
type Boards struct {
	List []*aggregate.Board
	// Note says how complete the leaderboard is, or why there is none.
	Note string
	// tables are their texts among the outputs of the run.
	tables []string
}

// BoardsOf reads the leaderboards that a run made. Without one it makes that of the
// reports, with a note.
func BoardsOf(ctx context.Context, store cache.Store, sum *ledger.Summary, reports []grading.Graded, catalog *competitions.Catalog) (b Boards) {
	for i := range sum.Steps {
		s := &sum.Steps[i]
		if s.Kind != "aggregate" || s.Outputs["board"] == "" {
			continue
		}
		made, err := outputs.Read[*aggregate.Board](ctx, store, s.Outputs["board"])
		if err != nil || made == nil || len(made.Agents) == 0 {
			continue // evicted: its text is among the outputs
		}
		var table string
		_ = json.Unmarshal([]byte(s.Outputs["table"]), &table) // else no output has it
		b.List, b.tables = append(b.List, made), append(b.tables, table)
	}
	if len(b.List) > 0 || len(reports) == 0 {
		return b
	}
	made, err := aggregate.BoardOf(reports, catalog)
	if err != nil {
		b.Note = "There is no leaderboard of the attempts: " + err.Error()
		return b
	}
	b.List = []*aggregate.Board{made}
	if all := view.ToGrade(sum.Start); sum.State == ledger.Running || all > len(reports) {
		b.Note = view.PartialText(len(reports), all)
		for i := range made.Agents {
			made.Agents[i].Missing = nil // the note says it of all
		}
	}
	return b
}

// Others returns the outputs of a run without the texts of these leaderboards.
func (b Boards) Others(outputs []event.OutputValue) []event.OutputValue {
	outputs = slices.Clone(outputs)
	for i := range outputs {
		for _, table := range b.tables {
			if outputs[i].IsString && table != "" {
				outputs[i].Value = strings.ReplaceAll(outputs[i].Value, table, "")
			}
		}
	}
	return slices.DeleteFunc(outputs, func(o event.OutputValue) bool { return o.IsString && strings.TrimSpace(o.Value) == "" })
}
