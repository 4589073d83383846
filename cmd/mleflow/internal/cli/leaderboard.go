package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
)

type leaderboardOptions struct {
	split      string
	seeds      int
	padMissing bool
}

func newLeaderboard(a *app) *cobra.Command {
	var o leaderboardOptions
	cmd := &cobra.Command{
		Use:   "leaderboard REPORT.json...",
		Short: "Aggregate grading reports, one a seed, as the reference does",
		Long:  "Aggregate grading reports of one agent, one report a seed, into the percentages of\nthe leaderboard: mean, standard error of the mean and 95 % interval by split.",
		Args:  takes(1, -1),
		RunE: a.action(func(_ *cobra.Command, args []string) error {
			return runLeaderboard(a, o, args)
		}),
	}
	cmd.Flags().StringVar(&o.split, "split", "", "only this `SPLIT`: low, medium, high or all")
	cmd.Flags().IntVar(&o.seeds, "seeds", 0, "use `N` seeds (0: all that are complete)")
	cmd.Flags().BoolVar(&o.padMissing, "pad-missing", false, "count a missing report as no submission")
	return cmd
}

func runLeaderboard(a *app, o leaderboardOptions, paths []string) error {
	splits, err := o.splits()
	if err != nil {
		return err
	}
	var reports []grading.Flags
	for _, path := range paths {
		more, err := readReport(path)
		if err != nil {
			return usageError{err}
		}
		reports = append(reports, more...)
	}
	board, err := grading.NewBoard(reports, splits, grading.Seeds{Count: o.seeds, PadMissing: o.padMissing})
	if err != nil {
		return usageError{err}
	}
	if a.json {
		return writeJSON(a.stdout, board)
	}
	return a.showBoard(board, splits)
}

func (o leaderboardOptions) splits() ([]grading.SplitIDs, error) {
	catalog, err := competitions.Shipped()
	if err != nil {
		return nil, err
	}
	names := []string{"low", "medium", "high", "all"}
	if o.split != "" {
		names = []string{o.split}
	}
	var splits []grading.SplitIDs
	for _, name := range names {
		ids, err := catalog.Set(competitions.Set(name))
		if err != nil {
			return nil, usageError{err}
		}
		splits = append(splits, grading.SplitIDs{Name: name, IDs: ids})
	}
	return splits, nil
}

func readReport(path string) ([]grading.Flags, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read report: %w", err)
	}
	defer f.Close()
	flags, err := grading.ReadFlags(f)
	if err != nil {
		return nil, fmt.Errorf("read report %s: %w", path, err)
	}
	return flags, nil
}

func (a *app) showBoard(b grading.Board, splits []grading.SplitIDs) error {
	columns := []string{"Percent"}
	var shown []string
	for _, s := range splits {
		if _, ok := b.Splits[s.Name]; ok {
			shown = append(shown, s.Name)
			columns = append(columns, ">"+s.Name)
		}
	}
	t := view.NewTable(columns...)
	for _, name := range grading.PercentageNames() {
		row := []string{name}
		for _, split := range shown {
			e := b.Splits[split][name]
			row = append(row, fmt.Sprintf("%.2f ± %.2f", float64(e.Mean), float64(e.SEM)))
		}
		t.Row(row...)
	}
	if err := t.Write(a.stdout, a.outStyle()); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\n%s; mean ± standard error of the mean.\n", view.Plural(b.Seeds, "seed"))
	for _, s := range splits {
		if why := b.Skipped[s.Name]; why != "" {
			fmt.Fprintf(a.stderr, "%s %s: %s\n", a.errStyle().Warn("Left out:"), s.Name, why)
		}
	}
	return nil
}
