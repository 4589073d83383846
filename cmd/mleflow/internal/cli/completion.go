package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
)

// shell checks that a command got the name of a shell.
func shell(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
		return errors.New("name the shell: bash, zsh or fish")
	}
	return nil
}

func newCompletion(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print a shell's completion script",
		Args:      shell,
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.Stdout)
			default:
				return cmd.Root().GenFishCompletion(a.Stdout, true)
			}
		}),
	}
}
