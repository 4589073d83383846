package report

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Draw writes the leaderboard b of a step, which kept it as the text table. b is nil if
// the data are gone, or of a version that drew another table of them.
type Draw func(b *aggregate.Board, address, table string) (string, error)

// DrawBoards returns the outputs of a run with its leaderboards drawn again.
func DrawBoards(ctx context.Context, store cache.Store, sum *ledger.Summary, draw Draw) ([]event.OutputValue, error) {
	outputs := slices.Clone(sum.Outputs)
	for i := range sum.Steps {
		s := &sum.Steps[i]
		var table string
		if s.Kind != "aggregate" || json.Unmarshal([]byte(s.Outputs["table"]), &table) != nil || table == "" ||
			!slices.ContainsFunc(outputs, func(o event.OutputValue) bool { return o.IsString && strings.Contains(o.Value, table) }) {
			continue
		}
		text, err := draw(readBoard(ctx, store, s.Outputs["board"], table), s.Address, table)
		if err != nil {
			return nil, err
		}
		for k := range outputs {
			if outputs[k].IsString {
				outputs[k].Value = strings.ReplaceAll(outputs[k].Value, table, text)
			}
		}
	}
	return outputs, nil
}

func readBoard(ctx context.Context, store cache.Store, output, table string) *aggregate.Board {
	_, sum, _ := strings.Cut(output, ":")
	id, err := digest.ParseContentID(sum)
	if err != nil {
		return nil
	}
	var b aggregate.Board
	text, err := cache.Get(ctx, store, id, maxDocument)
	if err != nil || json.Unmarshal(text, &b) != nil || b.Compact(titleOf(table), aggregate.Stored) != table {
		return nil
	}
	return &b
}

func titleOf(table string) string {
	title, _, _ := strings.Cut(table, "\n")
	return title
}

// WithLabels draws a leaderboard as its step did, with labels.
func WithLabels(b *aggregate.Board, _, table string) (string, error) {
	if b == nil {
		return table, nil
	}
	return b.Compact(titleOf(table), aggregate.Layout{Width: aggregate.Stored.Width, Labels: true}), nil
}
