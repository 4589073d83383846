package cli

import (
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/cluster"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/competition"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/export"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/pipeline"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/proof"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
)

// Groups of commands in the help text.
const (
	groupPipeline    = "pipeline"
	groupRuns        = "runs"
	groupCompetition = "competition"
	groupMachine     = "machine"
)

// NewRoot returns the command mleflow, with all others below it.
func NewRoot(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:           "mleflow",
		Short:         "Plan, run and reproduce MLE-bench as a declarative pipeline",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          app.SubCommand,
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		}),
	}
	root.SetFlagErrorFunc(app.FlagError)
	cobra.EnableCommandSorting = false
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommandGroupID(groupMachine)
	flags := root.PersistentFlags()
	flags.StringVar(&a.CacheDir, "cache-dir", "", "folder of the cache (env MLEFLOW_CACHE_DIR)")
	flags.StringVar(&a.RemoteCache, "remote-cache", "", "`URL` of a cache behind the local one, or none (env MLEFLOW_REMOTE_CACHE)")
	flags.StringArrayVar(&a.CompetitionDirs, "competitions", nil, "add the competition or competitions in `DIR`; repeatable (env MLEFLOW_COMPETITIONS, a list)")
	flags.BoolVar(&a.JSON, "json", false, "write the result as JSON")
	flags.BoolVar(&a.NoColor, "no-color", false, "write no colours (env NO_COLOR)")
	flags.BoolVarP(&a.Verbose, "verbose", "v", false, "show more detail")
	root.AddGroup(
		&cobra.Group{ID: groupPipeline, Title: "Pipelines:"},
		&cobra.Group{ID: groupRuns, Title: "Runs and the cache:"},
		&cobra.Group{ID: groupCompetition, Title: "Competitions:"},
		&cobra.Group{ID: groupMachine, Title: "This machine:"},
	)
	addCommands(root, a)
	app.SetOnce(root)
	return root
}

// addCommands lists the verbs, in the order of the help text.
func addCommands(root *cobra.Command, a *app.App) {
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupPipeline, pipeline.NewDemo(a), pipeline.NewInit(a), pipeline.NewFmt(a), pipeline.NewValidate(a), pipeline.NewPlan(a), pipeline.NewApply(a), pipeline.NewRehearse(a), pipeline.NewLock(a), pipeline.NewExplain(a), pipeline.NewGraph(a))
	add(groupRuns, runs.NewRuns(a), runs.NewAttempts(a), runs.NewShow(a), runs.NewOutput(a), runs.NewGet(a), runs.NewDiff(a), proof.NewVerify(a), proof.NewBundle(a), proof.NewBoard(a), leaderboard.NewAudit(a), runs.NewLogs(a), runs.NewReport(a), runs.NewUI(a), export.NewExport(a), export.NewImport(a), proof.NewFingerprint(a), cache.NewCache(a))
	add(groupCompetition, competition.NewCompetition(a), competition.NewPrepare(a), competition.NewGrade(a), competition.NewGradeSample(a), leaderboard.NewLeaderboard(a), competition.NewMask(a))
	add(groupMachine, cluster.NewDoctor(a), cluster.NewCluster(a), cluster.NewWorker(a), app.NewVersion(a), newCompletion(a))
	addHelp(root)
}
