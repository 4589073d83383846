package cli

import (
	"github.com/spf13/cobra"
)

func newExport(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the results of a run in the format of another tool: run-group, atif",
		Args:  subCommand,
		RunE:  a.action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(newExportRunGroup(a), newExportATIF(a))
	return cmd
}
