package competition

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// BoardLock is a competition's leaderboard and Kaggle's present one.
type BoardLock struct {
	Competition string `json:"competition"`
	Path        string `json:"path"`
	competitions.BoardChange
	Changed bool `json:"changed"`
	Written bool `json:"written"`
	// Private says that it is the leaderboard that decided; a competition that
	// goes on has a public one only.
	Private  bool       `json:"private"`
	Deadline *time.Time `json:"deadline"`
	// Unscored is how many teams have no score; they are on no leaderboard.
	Unscored int `json:"teams_without_score"`

	scores []float64
}

// lockLeaderboards compares leaderboards with Kaggle's, all before any is
// written, and writes those that differ if it is told to.
func lockLeaderboards(ctx context.Context, t *app.Terminal, o competitionLockOptions, defs []*competitions.Definition) error {
	kaggle := source.NewKaggle(source.NewHTTP(nil))
	locks := make([]*BoardLock, len(defs))
	for i, def := range defs {
		var err error
		if locks[i], err = lockBoard(ctx, o, kaggle, def); err != nil {
			return err
		}
	}
	changed := 0
	for _, l := range locks {
		if !l.Changed {
			continue
		}
		changed++
		if !o.accept {
			continue
		}
		if err := app.ReplaceFile(l.Path, competitions.FormatLeaderboard(l.scores)); err != nil {
			return err
		}
		l.Written = true
	}
	err := t.Show(map[string]any{"leaderboards": locks}, func() {
		for _, l := range locks {
			showBoardLock(t, l)
		}
	})
	if err != nil {
		return err
	}
	if changed > 0 && !o.accept {
		return step.Mismatch(fmt.Errorf("%s a different leaderboard than Kaggle now; --accept takes Kaggle's", view.Verb(changed, "competition", "has", "have")))
	}
	return nil
}

// lockBoard compares one leaderboard.
func lockBoard(ctx context.Context, o competitionLockOptions, kaggle *source.Kaggle, def *competitions.Definition) (*BoardLock, error) {
	at := slices.IndexFunc(def.Sources, func(s competitions.Source) bool { return s.Kind == "kaggle" })
	switch {
	case at < 0:
		return nil, app.Usagef("%s is not a Kaggle competition: it has no source \"kaggle\"", def.ID)
	case def.Medals.File == "":
		return nil, app.Usagef("%s has no leaderboard file: its medals block lists the scores itself", def.ID)
	}
	board, err := kaggle.Leaderboard(ctx, def.Sources[at].Slug)
	if err != nil {
		return nil, err
	}
	medals, err := competitions.NewMedals(board.Scores)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", def.ID, err)
	}
	l := &BoardLock{
		Competition: def.ID, Path: filepath.Join(filepath.Dir(def.FilePath()), filepath.FromSlash(def.Medals.File)),
		BoardChange: competitions.CompareBoards(def.Medals, medals), Private: board.Private(time.Now()), Unscored: board.Unscored, scores: board.Scores,
	}
	l.Changed = l.BoardChange.Changed()
	if !board.Deadline.IsZero() {
		l.Deadline = &board.Deadline
	}
	switch {
	case medals.LowerIsBetter != def.Medals.LowerIsBetter:
		return nil, fmt.Errorf("%s: the leaderboard that Kaggle has now is in the opposite order, from %v to %v: what is better would be the other way round",
			def.ID, board.Scores[0], board.Scores[len(board.Scores)-1])
	case o.accept && !l.Private && !o.force:
		return nil, step.Mismatch(fmt.Errorf("%s ends on %s; until then Kaggle returns the public leaderboard, but MLE-bench uses the private one. Nothing was written; --force takes it anyway",
			def.ID, board.Deadline.Format(time.DateOnly)))
	}
	return l, nil
}

func showBoardLock(term *app.Terminal, l *BoardLock) {
	kind := "the private leaderboard"
	if !l.Private {
		kind = "the public leaderboard, since it ends on " + l.Deadline.Format(time.DateOnly)
	}
	if !l.Changed {
		fmt.Fprintf(term.Stdout, "%s: %s, unchanged (%s)\n", l.Competition, view.Plural(l.Teams, "team"), kind)
		return
	}
	fmt.Fprintf(term.Stdout, "%s: %d teams before, %d now (%s)\n", l.Competition, l.TeamsBefore, l.Teams, kind)
	fmt.Fprintf(term.Stdout, "  scores added: %d, removed: %d; places with another score: %d", l.Added, l.Removed, l.Places)
	if l.First > 0 {
		fmt.Fprintf(term.Stdout, ", the first is %d", l.First)
	}
	fmt.Fprintf(term.Stdout, "; teams without a score: %d\n", l.Unscored)
	t := view.NewTable("  Threshold", ">Before", ">Now", "")
	for _, row := range []struct {
		name     string
		was, now float64
	}{
		{"gold", l.Before.Gold, l.After.Gold}, {"silver", l.Before.Silver, l.After.Silver},
		{"bronze", l.Before.Bronze, l.After.Bronze}, {"median", l.Before.Median, l.After.Median},
	} {
		mark := ""
		if row.was != row.now {
			mark = "changed"
		}
		t.Row("  "+row.name, fmt.Sprint(row.was), fmt.Sprint(row.now), mark)
	}
	term.Table(t)
	if l.Written {
		fmt.Fprintf(term.Stdout, "  wrote %s; scores are no longer compared with the leaderboard that was published before\n", l.Path)
	}
}
