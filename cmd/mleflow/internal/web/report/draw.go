package report

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Draw writes the leaderboard b of a step; empty for the text that the step kept. b is
// nil if the data are gone, or of a version that drew another table of them.
type Draw func(b *aggregate.Board, address, title string) (string, error)

// DrawBoards returns the outputs of a run with its leaderboards drawn again.
func DrawBoards(ctx context.Context, store cache.Store, sum *ledger.Summary, draw Draw) ([]event.OutputValue, error) {
	outputs := slices.Clone(sum.Outputs)
	for i := range sum.Steps {
		s := &sum.Steps[i]
		var table string
		if s.Kind != "aggregate" || json.Unmarshal([]byte(s.Outputs["table"]), &table) != nil || table == "" {
			continue
		}
		title, _, _ := strings.Cut(table, "\n")
		b, err := results.Read[*aggregate.Board](ctx, store, s.Outputs["board"])
		if err != nil || b == nil || b.Compact(title, aggregate.Stored) != table {
			b = nil
		}
		text, err := draw(b, s.Address, title)
		if err != nil {
			return nil, err
		}
		for k := range outputs {
			if outputs[k].IsString && text != "" {
				outputs[k].Value = strings.ReplaceAll(outputs[k].Value, table, text)
			}
		}
	}
	return outputs, nil
}
