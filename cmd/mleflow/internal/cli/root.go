package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/cluster"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/competition"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/export"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/pipeline"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/proof"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/serve"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/notify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
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
		RunE:          a.Action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	root.SetFlagErrorFunc(app.FlagError)
	if cobra.EnableCommandSorting { // of concurrent calls none writes
		cobra.EnableCommandSorting = false
	}
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
	add(groupPipeline, pipeline.NewDemo(a), pipeline.NewInit(a), pipeline.NewFmt(a), pipeline.NewValidate(a), pipeline.NewPlan(a), pipeline.NewApply(a), runs.NewWait(a), pipeline.NewRehearse(a), pipeline.NewLock(a), pipeline.NewExplain(a), pipeline.NewGraph(a))
	add(groupRuns, runs.NewRuns(a), runs.NewAttempts(a), runs.NewShow(a), runs.NewOutput(a), runs.NewGet(a), runs.NewDiff(a), proof.NewVerify(a), proof.NewBundle(a), proof.NewBoard(a), leaderboard.NewAudit(a), runs.NewLogs(a), runs.NewReport(a), runs.NewUI(a), serve.NewServe(a, func() mcp.Options { return MCPOptions(a, false) }), export.NewExport(a), export.NewImport(a), proof.NewFingerprint(a), cache.NewCache(a))
	add(groupCompetition, competition.NewCompetition(a), competition.NewPrepare(a), competition.NewGrade(a), competition.NewGradeSample(a), leaderboard.NewLeaderboard(a), competition.NewMask(a))
	add(groupMachine, cluster.NewDoctor(a), cluster.NewCluster(a), cluster.NewWorker(a), pipeline.NewNotify(a), app.NewVersion(a), newMCP(a), newCompletion(a))
	addHelp(root)
}

// helpText has the long help of the commands: a section "## COMMAND" each, with its
// examples after a line "Examples:".
//
//go:embed help.txt
var helpText string

// addHelp gives the commands their long help, and the root the topics that are not about a command.
func addHelp(root *cobra.Command) {
	root.AddCommand(
		&cobra.Command{Use: "environment", Short: "Variables of the environment that mleflow reads"},
		&cobra.Command{Use: "exit-statuses", Short: "What the exit statuses mean"},
	)
	sections := helpSections()
	app.Walk(root, func(c *cobra.Command) {
		if s, ok := sections[c.CommandPath()]; ok {
			c.Long, c.Example, _ = strings.Cut(s, "\n\nExamples:\n")
		}
	})
}

// helpSections returns the sections of the help text by the command's path.
func helpSections() map[string]string {
	sections := map[string]string{}
	for section := range strings.SplitSeq(strings.TrimPrefix(helpText, "## "), "\n## ") {
		path, text, _ := strings.Cut(section, "\n\n")
		sections[path] = strings.TrimSpace(text)
	}
	return sections
}

// Main runs the command line and returns the exit status.
func Main(args []string) int {
	garbage.Start()
	if len(args) > 0 && hidden[args[0]] != nil {
		garbage.Usual() // it may run for long, and limit its memory itself
		return internal(args)
	}
	a := app.NewApp(&app.Terminal{Stdin: os.Stdin, Stdout: view.NewOutput(os.Stdout), Stderr: os.Stderr, Environ: os.Environ()})
	if len(args) > 1 && args[0] == pipeline.DetachedCommand {
		a.Log, args = args[1], args[2:]
	}
	if dir := machine.TempDir(os.TempDir()); dir != "" && dir != os.TempDir() {
		_ = os.Setenv("TMPDIR", dir) // doctor says so
	}
	ctx, end := app.Interruptible(context.Background(), a.Terminal)
	defer end()
	return main(ctx, a, args)
}

// internal runs a command that mleflow starts itself with.
func internal(args []string) (status int) {
	defer func() {
		if v := recover(); v != nil {
			bug := crash.New(v)
			fmt.Fprintf(os.Stderr, "%v\n%s", bug, bug.Stack)
			status = app.ExitFailed
		}
	}()
	return hidden[args[0]](args[1:])
}

func main(ctx context.Context, a *app.App, args []string) (status int) {
	in, err := submitted.Enter(a.Env)
	if err != nil {
		a.Report(err)
		return app.ExitFailed
	}
	if in != nil {
		_ = os.Unsetenv(submitted.Variable) // workers that it starts are others, and have no rules
		a.Submitted, ctx = in, secret.Only(ctx, in.Secrets)
		defer func() { in.End(status) }()
	}
	root := NewRoot(a)
	a.Args = append([]string{os.Args[0]}, args...)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		(&completion{a}).complete(root)
	}
	root.SetArgs(app.Normalise(root, args))
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err = crash.Do(func() error { return root.ExecuteContext(ctx) })
	if err != nil && !a.Started {
		err = app.Wrong(err)
	}
	if out, ok := a.Stdout.(*view.Output); ok && err == nil && out.Err() != nil {
		err = fmt.Errorf("write standard output: %w", out.Err())
	}
	var own app.StatusError
	if err == nil || ctx.Err() == nil || errors.As(err, &own) {
		a.Report(err)
		return app.ExitStatus(err)
	}
	if !errors.Is(err, context.Canceled) {
		a.Report(err)
	}
	return app.ExitStatus(fmt.Errorf("%w: %w", context.Cause(ctx), context.Canceled))
}

// inside runs what looks around in a sandbox.
func inside(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// hidden are the sub-commands that mleflow starts itself with. They take the
// rest of the line as it is and are dispatched before anything is set up.
var hidden = map[string]func(args []string) int{
	agent.Command:          agent.Main,
	acp.Command:            acp.Main,
	acp.ToolsCommand:       mcp.GatewayMain,
	containerd.LogCommand:  containerd.Log,
	containerd.LookCommand: containerd.Look,
	notify.Command:         notify.Main,
	breach.Command:         func([]string) int { return inside(breach.Main(os.Stdin, os.Stdout)) },
	breach.ThiefCommand:    func(args []string) int { return inside(breach.Thief(args)) },
	confined.Command:       func([]string) int { return confined.Serve(competitions.Shipped, metric.All()) },
}
