package competition

import (
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// NewCompetition returns the command competition.
func NewCompetition(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "competition",
		Short: "Show, write and check competitions: list, show, new, lint, test, lock",
		Args:  app.SubCommand,
		RunE:  a.Action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(newCompetitionList(a), newCompetitionShow(a), newCompetitionNew(a), newCompetitionLint(a), newCompetitionTest(a), newCompetitionLock(a))
	return cmd
}
