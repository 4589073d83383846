package outputs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// maxRead is the largest document that is read.
const maxRead = 64 << 20

// Read decodes a step's JSON output, which journals name "blob:DIGEST".
func Read[T any](ctx context.Context, store cache.Store, output string) (v T, err error) {
	_, sum, _ := strings.Cut(output, ":")
	id, err := digest.ParseContentID(sum)
	if err != nil {
		return v, err
	}
	return Document[T](ctx, store, id)
}

// Lookup returns the record of an action that a journal names.
func Lookup(ctx context.Context, index cache.Index, action string) (*cache.Record, error) {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return nil, fmt.Errorf("read action: %w", err)
	}
	return index.Lookup(ctx, id)
}

// Document decodes content that is JSON.
func Document[T any](ctx context.Context, store cache.Store, id digest.ContentID) (v T, err error) {
	text, err := cache.Get(ctx, store, id, maxRead)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// Board is a leaderboard that a step of a run made: its text among the run's outputs, and
// its data, nil if they are gone.
type Board struct {
	Address, Table string
	Data           *aggregate.Board
}

// Boards reads the leaderboards of a run.
func Boards(ctx context.Context, store cache.Store, sum *history.Summary) (list []Board) {
	for i := range sum.Steps {
		if s := &sum.Steps[i]; s.Kind == boardKind {
			b := Board{Address: s.Address}
			_ = json.Unmarshal([]byte(s.Outputs["table"]), &b.Table) // without it no output has it
			b.Data, _ = Read[*aggregate.Board](ctx, store, s.Outputs["board"])
			list = append(list, b)
		}
	}
	return list
}
