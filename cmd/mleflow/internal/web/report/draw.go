package report

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Draw writes the leaderboard b of a step; empty for the text that the step kept. b is
// nil if the data are gone, or of a version that drew another table of them.
type Draw func(b *aggregate.Board, address, title string) (string, error)

// DrawBoards returns the outputs of a run with its leaderboards drawn again.
func DrawBoards(ctx context.Context, store cache.Store, sum *ledger.Summary, draw Draw) ([]event.OutputValue, error) {
	shown := slices.Clone(sum.Outputs)
	for i := range sum.Steps {
		s := &sum.Steps[i]
		var table string
		if s.Kind != "aggregate" || json.Unmarshal([]byte(s.Outputs["table"]), &table) != nil || table == "" {
			continue
		}
		title, _, _ := strings.Cut(table, "\n")
		b, err := outputs.Read[*aggregate.Board](ctx, store, s.Outputs["board"])
		if err != nil || b == nil || b.Compact(title, aggregate.Stored) != table {
			b = nil
		}
		text, err := draw(b, s.Address, title)
		if err != nil {
			return nil, err
		}
		for k := range shown {
			if shown[k].IsString && text != "" {
				shown[k].Value = strings.ReplaceAll(shown[k].Value, table, text)
			}
		}
	}
	return shown, nil
}
