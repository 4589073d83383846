package cli

import (
	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a shell's completion script",
		Long: `Print the completion script of a shell. To load it in every session:

  bash  mleflow completion bash > ~/.local/share/bash-completion/completions/mleflow
  zsh   mleflow completion zsh > "${fpath[1]}/_mleflow"
  fish  mleflow completion fish > ~/.config/fish/completions/mleflow.fish`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(a.stdout)
			default:
				return cmd.Root().GenFishCompletion(a.stdout, true)
			}
		}),
	}
}
