package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/pipeline"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/notify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/importer"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/reward"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// completer gives a shell what may be written at a place.
type completer = func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective)

// completion offers what may be written on the command line.
type completion struct{ *app.App }

// complete lets shells complete the arguments of all commands and the values of
// all flags.
func (comp *completion) complete(root *cobra.Command) {
	arguments, values := comp.argumentCompleters(), comp.valueCompleters()
	app.Walk(root, func(c *cobra.Command) {
		switch complete, known := arguments[c.CommandPath()]; {
		case known:
			c.ValidArgsFunction = complete
		case c.ValidArgs == nil:
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	})
	app.WalkFlags(root, func(c *cobra.Command, f *pflag.Flag) {
		if complete := completerOf(c, f, values); complete != nil {
			// It fails only if there is no such flag, or if it is done.
			_ = c.RegisterFlagCompletionFunc(f.Name, complete)
		}
	})
}

// completerOf finds how a flag's value is completed: by command and flag, by
// flag, or by what the value is called in its description.
func completerOf(c *cobra.Command, f *pflag.Flag, values map[string]completer) completer {
	called, _ := pflag.UnquoteUsage(f)
	for _, key := range []string{c.CommandPath() + " --" + f.Name, "--" + f.Name, called} {
		if complete, known := values[key]; known {
			return complete
		}
	}
	return nil
}

// completers complete what each of several keys stands for, which commas separate.
type completers []struct {
	complete completer
	keys     string
}

// byKey returns the completer of each key, which begins with a prefix.
func (list completers) byKey(prefix string) map[string]completer {
	all := map[string]completer{}
	for _, same := range list {
		for key := range strings.SplitSeq(same.keys, ", ") {
			all[prefix+key] = same.complete
		}
	}
	return all
}

// argumentCompleters are those of the commands that take arguments.
func (c *completion) argumentCompleters() map[string]completer {
	return completers{
		{atMost(1, suffixed("hcl")), "init"},
		{suffixed("hcl"), "fmt"},
		{atMost(1, pipelineFiles), "validate, plan, doctor, apply, rehearse, lock, graph"},
		{inTurn(orFiles(c.completeKeys), c.completeKeys), "explain"},
		{atMost(1, c.completeRuns), "wait, show, attempts list, runs drain, runs pause, runs continue, runs name, runs note, runs tag, bundle, report, export run-group, export inspect, export otel"},
		{inTurn(c.completeRuns, c.completeRunSteps), "attempts fork, logs, export atif, export trajectories"},
		{atMost(1, c.completeOutputs), "output"},
		{inTurn(c.completeRuns, c.completeContent), "get"},
		{atMost(2, c.completeRuns), "diff"},
		{atMost(1, orFiles(c.completeRuns)), "verify, audit"},
		{suffixed("bundle"), "board build"},
		{orFiles(c.completeRuns), "export, leaderboard"},
		{c.completeRuns, "runs remove"},
		{c.completeLive, "attempts stop, attempts cancel, attempts requeue, attempts extend"},
		{inTurn(both(c.completeRuns, words("parallelism=", "gpus=", "budget=", "deadline=")), words("parallelism=", "gpus=", "budget=", "deadline=")), "runs set"},
		{c.completeIDs, "export harbor, competition lint, competition test, competition lock"},
		{suffixed("json"), "import atif"},
		{suffixed("eval"), "import inspect"},
		{atMost(1, c.completeCached), "cache ls"},
		{both(c.completeRuns, c.completeCached), "cache pin"},
		{atMost(1, c.completePins), "cache unpin"},
		{both(c.completePins, c.completeCached), "cache push, cache pull"},
		{atMost(1, c.completeIDs), "competition show, mask data"},
		{inTurn(cobra.NoFileCompletions, suffixed("csv")), "competition rank"},
		{c.completeReceivers, "notify test"},
		{cobra.NoFileCompletions, "competition new, worker, grade"},
		{inTurn(files, c.completeIDs), "grade-sample, mask submission"},
		{atMost(1, files), "mask salt"},
		{atMost(1, folders), "fingerprint build, competition rehearsal, competition import"},
		{inTurn(files, orFiles(c.completeRuns)), "fingerprint compare"},
	}.byKey("mleflow ")
}

// anyValue are the keys of values that nothing completes.
const anyValue = "--url, --image, --images, --title, KEY@TIME, --model, IMAGE, GLOB, --experiment-id, --common, --power, ATTEMPTS, " +
	"AGE, N, NAME, USD, GROUP, KEY=VALUE, TEXT, SIZE, SEED, TIME, TIMES, MODELS, HOURS, DATE, DIGEST"

// valueCompleters are those of flags; see completerOf for the keys. A value that
// is missing here completes files.
func (c *completion) valueCompleters() map[string]completer {
	return completers{
		{c.completeVariables, "--var"},
		{c.completeParameters, "--param"},
		{words(append(reward.Kinds(false), "sample")...), "--reward"},
		{words(pipeline.ShippedNames()...), "mleflow init --from"},
		{words(append(kit.Skeletons(), "kaggle:")...), "--from"},
		{words(metric.All().Names()...), "mleflow competition new --metric"},
		{c.completeCategories, "--category"},
		{c.completeVersions, "--version"},
		{words("any", "time=24h", "gpus=1"), "mleflow leaderboard --class"},
		{words(board.Rules()...), "--aggregate"},
		{words("v1", "v1m", "v2", "v2m"), "mleflow leaderboard --version, --against-version"},
		{words("agent"), "--fail-on"},
		{both(words(outcome.RetryWords()...), c.completeKeys), "--retry"},
		{c.completeKeys, "--attempt"},
		{words(leaderboard.RuleNames()...), "--exclude-rule"},
		{words(grading.IntegrityWords()...), "--integrity"},
		{suffixed("hcl"), "--on, mleflow lock --output"},
		{words(string(app.AskFirst), string(app.LeaveThem), string(app.StopThem)), "--on-interrupt"},
		{c.completeReceivers, "RECEIVER"},
		{words("seccomp", "pod"), "--print"},
		{words("kubernetes"), "KIND"},
		{words("figures", "runs"), "--table"},
		{words("attempts", "snapshots"), "mleflow export --table"},
		{words("text", "markdown", "json", "csv", "parquet", "arrow"), "--format"},
		{words("parquet", "arrow", "csv", "json"), "mleflow export --format"},
		{words("dot", "mermaid"), "mleflow graph --format"},
		{words(importer.Formats...), "mleflow competition import --format"},
		{words("higher", "lower"), "--better"},
		{words("low", "medium", "high"), "--complexity"},
		{words("python"), "mleflow competition test --against"},
		{words(board.FigureNames()...), "--figure"},
		{orFiles(c.completeRuns), "--against"},
		{c.completeRuns, "RUN"},
		{c.completeIDs, "ID"},
		{c.completeSteps, "ADDRESS"},
		{words(competitions.SetNames()...), "SET"},
		{folders, "FOLDER, DIR, URL, --cache-dir, --remote-cache"},
		{files, "FILE, PROGRAM"},
		{cobra.NoFileCompletions, anyValue},
	}.byKey("")
}

func files(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// suffixed completes files by their suffix.
func suffixed(suffix string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{suffix}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// pipelineFiles completes files of pipelines; in a folder without any, the shipped ones.
func pipelineFiles(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	here, err := filepath.Glob("*.hcl")
	if err != nil || len(here) > 0 || strings.Contains(start, "/") {
		return suffixed("hcl")(cmd, args, start)
	}
	return pipeline.ShippedNames(), cobra.ShellCompDirectiveNoFileComp
}

// words completes what is known beforehand.
func words(list ...string) completer {
	directive := cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if slices.ContainsFunc(list, func(w string) bool { return strings.HasSuffix(w, ":") }) {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return cobra.FixedCompletions(list, directive)
}

// atMost completes the first n arguments.
func atMost(n int, complete completer) completer {
	return inTurn(slices.Repeat([]completer{complete}, n)...)
}

// inTurn completes each argument in its own way, and nothing after them.
func inTurn(each ...completer) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return each[len(args)](cmd, args, start)
	}
}

// orFiles completes files where nothing else fits.
func orFiles(complete completer) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		found, directive := complete(cmd, args, start)
		return found, directive &^ cobra.ShellCompDirectiveNoFileComp
	}
}

// both completes what either does.
func both(one, other completer) completer {
	return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		found, directive := one(cmd, args, start)
		more, _ := other(cmd, args, start)
		return append(found, more...), directive
	}
}

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

// offered is the directive for what is one of a list, in its order.
const offered = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// completeRuns completes runs, newest first.
func (c *completion) completeRuns(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	l, err := c.OpenHistory()
	if err != nil {
		return nil, offered
	}
	entries, err := l.List()
	if err != nil || len(entries) == 0 {
		return nil, offered
	}
	ids := []string{"latest"}
	for _, e := range entries {
		ids = append(ids, cobra.CompletionWithDesc(e.ID, e.PipelineName()))
	}
	return ids, offered
}

// summary is the run that a command is about; nil if it cannot be read.
func (c *completion) summary(cmd *cobra.Command, args []string) *history.Summary {
	if f := cmd.Flag("run"); f != nil {
		args = []string{f.Value.String()}
	}
	sum, _ := c.Summary(args)
	return sum
}

// attempts are the names of the attempts of a run; a run that cannot be read has none.
func (c *completion) attempts(run []string) []string {
	past, err := c.FindRun(run)
	if err != nil {
		return nil
	}
	list, _, _ := attempts.Of(past)
	return attempts.Names(list)
}

// completeLive completes the attempts that can be steered, of all runs that live.
func (c *completion) completeLive(cmd *cobra.Command, args []string, _ string) (keys []string, _ cobra.ShellCompDirective) {
	live, _ := runs.Live(c.App, cmd.Flag("run").Value.String()) // without any there is none to offer
	for _, past := range live {
		list, _, _ := attempts.Of(past)
		for i, key := range attempts.Names(list) {
			if list[i].Address != "" && list[i].Phase != results.Done && !slices.Contains(args, key) {
				keys = append(keys, cobra.CompletionWithDesc(key, "run "+past.Info.ID+", "+past.Entry().PipelineName()))
			}
		}
	}
	return keys, offered
}

// completeReceivers completes the receivers of the user's configuration.
func (c *completion) completeReceivers(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list, _, _ := pipeline.Configured(c.App) // one that cannot be read has no names
	return lists.Of(list, func(r notify.Receiver) string { return r.Name }), offered
}

// completeRunSteps completes the attempts of a run, then the addresses of its steps.
func (c *completion) completeRunSteps(cmd *cobra.Command, args []string, _ string) (named []string, _ cobra.ShellCompDirective) {
	if sum := c.summary(cmd, args); sum != nil {
		named = append(c.attempts([]string{sum.ID}), view.InOrder(lists.Of(sum.Steps, view.StepAddress), func(a string) string { return a })...)
	}
	return named, offered
}

// completeContent completes the addresses of a run, and the outputs of one that
// is written already.
func (c *completion) completeContent(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flag("all"); f != nil && f.Changed {
		return nil, offered
	}
	addresses, directive := c.completeRunSteps(cmd, args, start)
	sum := c.summary(cmd, args)
	if sum == nil {
		return nil, directive
	}
	for _, s := range sum.Steps {
		if !strings.HasPrefix(start, s.Address) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
			addresses = append(addresses, s.Address+"."+name)
		}
	}
	return addresses, directive
}

// completeOutputs completes the outputs of a run's pipeline.
func (c *completion) completeOutputs(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if sum := c.summary(cmd, nil); sum != nil {
		names = lists.Of(sum.Outputs, func(o event.OutputValue) string { return o.Name })
	}
	return names, offered
}

// completeCached completes the addresses that the cache has results of.
func (comp *completion) completeCached(cmd *cobra.Command, _ []string, _ string) (addresses []string, _ cobra.ShellCompDirective) {
	_ = comp.WithCache(func(c *disk.Cache) error {
		items, err := c.List(context.WithoutCancel(cmd.Context()))
		addresses = lists.Of(items, func(item disk.Item) string { return item.Address })
		return err
	})
	slices.Sort(addresses)
	return view.InOrder(slices.Compact(addresses), func(a string) string { return a }), offered
}

// completePins completes the names of pins.
func (comp *completion) completePins(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	_ = comp.WithCache(func(c *disk.Cache) error {
		pins, err := c.Pins(cmd.Context())
		names = lists.Of(pins, func(p disk.Pin) string { return p.Name })
		return err
	})
	return names, offered
}

// completeIDs completes competitions that are not among the arguments yet.
func (c *completion) completeIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flag("dir"); f != nil && f.Changed {
		c.CompetitionDirs = append(c.CompetitionDirs, f.Value.String())
	}
	catalog, err := c.Catalog()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.DeleteFunc(catalog.IDs(), func(id string) bool { return slices.Contains(args, id) }), offered
}

// completeCategories completes the categories of all competitions.
func (c *completion) completeCategories(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	catalog, err := c.Catalog()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, id := range catalog.IDs() {
		if name := catalog.Category(id); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), offered
}

// completeVersions completes the versions of the competitions among the arguments.
func (c *completion) completeVersions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := []string{"v1"}
	for _, id := range args {
		if def, err := c.Definition(id); err == nil {
			names = append(names, def.Versions()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), offered
}

// completeParameters completes the parameters of the competitions that the
// command line names.
func (c *completion) completeParameters(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if f := cmd.Flag("competition"); f != nil {
		if several, ok := f.Value.(pflag.SliceValue); ok {
			args = append(args, several.GetSlice()...)
		} else {
			args = append(args, f.Value.String())
		}
	}
	for _, id := range args {
		if def, err := c.Definition(id); err == nil {
			names = append(names, lists.Of(def.ParamNames(), func(name string) string { return name + "=" })...)
		}
	}
	return names, offered | cobra.ShellCompDirectiveNoSpace
}

// completeVariables completes the variables of a pipeline, or of that of a run.
func (c *completion) completeVariables(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if p := c.glanceAt(cmd, args); p != nil && p.Pipeline != nil {
		names = lists.Of(slices.Sorted(maps.Keys(p.Pipeline.Variables)), func(name string) string { return name + "=" })
	}
	return names, offered | cobra.ShellCompDirectiveNoSpace
}

// glanceAt reads the pipeline that a command is about, as far as it can be read;
// nil if it cannot.
func (c *completion) glanceAt(cmd *cobra.Command, args []string) *engine.Program {
	if takesRun := cmd.Name() == "bundle" || cmd.Name() == "verify"; !takesRun {
		return c.glance(args)
	}
	past, err := c.FindRun(args)
	if err != nil {
		return nil
	}
	sources, errSources := past.Sources()
	e, err := c.BareEngine()
	if cmp.Or(errSources, err) != nil {
		return nil
	}
	path := past.Info.Pipeline
	p, _ := e.Parse(path, sources[filepath.Base(path)], config.Inputs{Files: sources})
	return p
}

func (c *completion) glance(args []string) *engine.Program {
	path, err := app.PipelineFile(args)
	if err != nil {
		return nil
	}
	c.UsePipeline(path)
	e, err := c.BareEngine()
	if err != nil {
		return nil
	}
	p, _ := e.Load(path, config.Inputs{Environ: c.Environ})
	return p
}

// completeSteps completes the blocks of a pipeline, then their instances.
func (c *completion) completeSteps(_ *cobra.Command, args []string, _ string) (addresses []string, _ cobra.ShellCompDirective) {
	p := c.glance(args)
	if p == nil {
		return nil, offered
	}
	for _, i := range p.Instances {
		if block := i.Addr.Step.String(); !slices.Contains(addresses, block) {
			addresses = append(addresses, block)
		}
	}
	for _, i := range p.Instances {
		if i.Addr.HasKey {
			addresses = append(addresses, i.Addr.String())
		}
	}
	return addresses, offered
}

// completeKeys completes the attempts of a pipeline, then the addresses of its steps.
func (c *completion) completeKeys(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	p := c.glance(args)
	if p == nil {
		return nil, offered
	}
	steps, directive := c.completeSteps(cmd, args, start)
	list, _ := app.AttemptsIn(p)
	return append(attempts.Names(list), steps...), directive
}
