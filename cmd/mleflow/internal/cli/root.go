package cli

import (
	"github.com/spf13/cobra"
)

// Groups of commands in the help text.
const (
	groupPipeline    = "pipeline"
	groupRuns        = "runs"
	groupCompetition = "competition"
	groupMachine     = "machine"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "mleflow",
		Short:         "Plan, run and reproduce MLE-bench as a declarative pipeline",
		Long:          "mleflow reads a pipeline from an HCL file, says what would run and why, runs\nonly what changed, keeps every result by content, and prints a leaderboard that\nanyone can reproduce from the same file.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subCommand,
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		}),
	}
	root.SetFlagErrorFunc(flagError)
	cobra.EnableCommandSorting = false
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommandGroupID(groupMachine)
	flags := root.PersistentFlags()
	flags.StringVar(&a.cacheDir, "cache-dir", "", "folder of the cache (env MLEFLOW_CACHE_DIR)")
	flags.StringVar(&a.remoteCache, "remote-cache", "", "`URL` of a cache behind the local one, or none (env MLEFLOW_REMOTE_CACHE)")
	flags.StringArrayVar(&a.competitionDirs, "competitions", nil, "add the competition or competitions in `DIR`; repeatable (env MLEFLOW_COMPETITIONS, a list)")
	flags.BoolVar(&a.json, "json", false, "write the result as JSON")
	flags.BoolVar(&a.noColor, "no-color", false, "write no colours (env NO_COLOR)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "show more detail")
	root.AddGroup(
		&cobra.Group{ID: groupPipeline, Title: "Pipelines:"},
		&cobra.Group{ID: groupRuns, Title: "Runs and the cache:"},
		&cobra.Group{ID: groupCompetition, Title: "Competitions:"},
		&cobra.Group{ID: groupMachine, Title: "This machine:"},
	)
	addCommands(root, a)
	setOnce(root)
	return root
}

// addCommands lists the verbs, in the order of the help text.
func addCommands(root *cobra.Command, a *app) {
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupPipeline, newDemo(a), newInit(a), newFmt(a), newValidate(a), newPlan(a), newApply(a), newLock(a), newExplain(a), newGraph(a))
	add(groupRuns, newRuns(a), newShow(a), newOutput(a), newGet(a), newDiff(a), newVerify(a), newBundle(a), newBoard(a), newLogs(a), newReport(a), newUI(a), newExport(a), newFingerprint(a), newCache(a))
	add(groupCompetition, newCompetition(a), newPrepare(a), newGrade(a), newGradeSample(a), newLeaderboard(a), newMask(a))
	add(groupMachine, newDoctor(a), newCluster(a), newWorker(a), newVersion(a), newCompletion(a))
	addTopics(root)
	(&completion{a}).complete(root)
}
