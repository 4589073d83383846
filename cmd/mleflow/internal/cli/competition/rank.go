package competition

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// RankJSON is the form of competition rank --json.
type RankJSON struct {
	grading.Thresholds
	grading.Medals
	LowerIsBetter bool `json:"is_lower_better"`
	Rank          int  `json:"rank"`
	Teams         int  `json:"teams"`
}

func newCompetitionRank(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "rank SCORE LEADERBOARD.csv",
		Short: "Compare a score with a leaderboard file",
		Args:  app.Takes(2, 2),
		RunE: a.Action(func(_ *cobra.Command, args []string) error {
			score, err := strconv.ParseFloat(args[0], 64)
			if err != nil {
				return app.Usagef("%q is not a score; write a number, inf or nan", args[0])
			}
			medals, err := readBoard(args[1])
			if err != nil {
				return app.Wrong(err)
			}
			ranked := rank(score, medals)
			return a.Show(ranked, func() {
				fmt.Fprintf(a.Stdout, "%s: %s medal, place %d of %d teams\n", args[0], ranked.Best(), ranked.Rank, ranked.Teams)
			})
		}),
	}
}

// readBoard reads the column score of a CSV file.
func readBoard(path string) (competitions.Medals, error) {
	t, err := table.ReadCSVFile(path, table.ReadOptions{})
	if err != nil {
		return competitions.Medals{}, fmt.Errorf("read leaderboard: %w", err)
	}
	column, err := t.Column("score")
	if err != nil {
		return competitions.Medals{}, fmt.Errorf("read leaderboard %s: %w", path, err)
	}
	if kind := column.Kind(); column.Len() > 0 && (kind != table.Int64 && kind != table.Float64 || column.MissingCount() > 0) {
		return competitions.Medals{}, fmt.Errorf("read leaderboard %s: column score has values that are not numbers", path)
	}
	return competitions.NewMedals(column.Floats())
}

func rank(score float64, m competitions.Medals) RankJSON {
	s := m.Rank(score)
	return RankJSON{grading.ThresholdsOf(m.Thresholds), grading.MedalsOf(s), m.LowerIsBetter, s.Rank, len(m.Scores)}
}
