package cli

import "github.com/spf13/cobra"

// topics are pages of help that are not about a command.
var topics = []*cobra.Command{
	{Use: "environment", Short: "Variables of the environment that mleflow reads", Long: `Flags take precedence over these variables.

  MLEFLOW_CACHE_DIR      folder of the cache (--cache-dir)
  MLEFLOW_CACHE_QUOTA    size that the cache may have, such as 500GB
  MLEFLOW_REMOTE_CACHE   remote cache (--remote-cache)
  MLEFLOW_STATE_DIR      folder of what is remembered besides the cache
  MLEFLOW_COMPETITIONS   folders of competitions of your own, a list (--competitions)
  MLEFLOW_VAR_name       value of the pipeline's variable name (-var)
  MLEFLOW_MIRROR         mirror of the raw data and texts (--mirror)
  MLEFLOW_ON             cluster file (--on)
  MLEFLOW_AUTO_RUNTIME   the runtime that runtime = "auto" means here
  NO_COLOR               no colours (--no-color)`},
	{Use: "exit-statuses", Short: "What the exit statuses mean", Long: `All commands end with one of these.

  0    all went well
  1    a step failed, or the command could not do its work
  2    wrong usage, or an invalid HCL file
  3    content is not what a checksum or lock says
  4    the submission is invalid (grade-sample)
  5    scores are only claimed, not recomputed (verify, board build)
  6    the board names duplicates, possible selection or mixed tasks (board build)
  130  interrupted by SIGINT, SIGTERM or SIGHUP`},
}

// addTopics adds fresh copies, because a command belongs to one root.
func addTopics(root *cobra.Command) {
	for _, t := range topics {
		root.AddCommand(&cobra.Command{Use: t.Use, Short: t.Short, Long: t.Long})
	}
}
