package cli

import (
	"github.com/spf13/cobra"
)

func newCompetition(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "competition",
		Short: "Show, write and check competitions: list, show, new, lint, test, lock",
		Args:  subCommand,
		RunE:  a.action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(newCompetitionList(a), newCompetitionShow(a), newCompetitionNew(a), newCompetitionLint(a), newCompetitionTest(a), newCompetitionLock(a))
	return cmd
}
