package firstscreen

import (
	"context"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// runBoards are the leaderboards of a run.
type runBoards struct {
	list []*aggregate.Board
	// note says how complete the leaderboard is, or why there is none.
	note string
	// tables are their texts among the outputs of the run.
	tables []string
}

// boards reads the leaderboards that a run made. Without one it makes that of the
// reports, with a note.
func (s *Source) boards(ctx context.Context) (b runBoards) {
	sum := s.Summary
	for _, made := range outputs.Boards(ctx, s.Store, sum) {
		if made.Data != nil && len(made.Data.Agents) > 0 { // else its text is among the outputs
			b.list, b.tables = append(b.list, made.Data), append(b.tables, made.Table)
		}
	}
	var reports []grading.Graded
	for _, p := range s.Pairs {
		if g, ok := s.Reports[p.Grade]; ok {
			reports = append(reports, g)
		}
	}
	if len(b.list) > 0 || len(reports) == 0 {
		return b
	}
	made, err := aggregate.BoardOf(reports, s.Catalog)
	if err != nil {
		b.note = "There is no leaderboard of the attempts: " + err.Error()
		return b
	}
	b.list = []*aggregate.Board{made}
	if all := view.ToGrade(sum.Start); sum.State == history.Running || all > len(reports) {
		b.note = view.PartialText(len(reports), all)
		for i := range made.Agents {
			made.Agents[i].Missing = nil // the note says it of all
		}
	}
	return b
}

// others returns the outputs of a run without the texts of these leaderboards.
func (b runBoards) others(outputs []event.OutputValue) (list []page.Fact) {
	for _, o := range outputs {
		for _, table := range b.tables {
			if o.IsString && table != "" {
				o.Value = strings.ReplaceAll(o.Value, table, "")
			}
		}
		if !o.IsString || strings.TrimSpace(o.Value) != "" {
			list = append(list, page.Fact{Name: o.Name, Value: o.Value})
		}
	}
	return list
}
