package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/pipeline"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/harbor"
	"github.com/mleflow/mleflow/competitions/kit"
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
		each := func(f *pflag.Flag) {
			if complete := completerOf(c, f, values); complete != nil {
				// It fails only if there is no such flag, or if it is done.
				_ = c.RegisterFlagCompletionFunc(f.Name, complete)
			}
		}
		c.Flags().VisitAll(each)
		c.PersistentFlags().VisitAll(each)
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

// argumentCompleters are those of the commands that take arguments.
func (c *completion) argumentCompleters() map[string]completer {
	all := map[string]completer{}
	for _, same := range []struct {
		complete completer
		commands string
	}{
		{atMost(1, suffixed("hcl")), "init"},
		{suffixed("hcl"), "fmt"},
		{atMost(1, pipelineFiles), "validate, plan, doctor, apply, rehearse, lock, graph"},
		{c.completeExplain, "explain"},
		{atMost(1, c.completeRuns), "show, runs pause, runs continue, runs name, runs note, runs tag, bundle, report, export run-group, export inspect, export otel"},
		{inTurn(c.completeRuns, c.completeRunSteps), "attempts fork, logs, export atif"},
		{atMost(1, c.completeOutputs), "output"},
		{inTurn(c.completeRuns, c.completeContent), "get"},
		{atMost(2, c.completeRuns), "diff"},
		{atMost(1, orFiles(c.completeRuns)), "verify, audit"},
		{suffixed("bundle"), "board build"},
		{orFiles(c.completeRuns), "export, leaderboard"},
		{c.completeIDs, "export harbor, competition lint, competition test, competition lock"},
		{suffixed("json"), "import atif"},
		{suffixed("eval"), "import inspect"},
		{atMost(1, c.completeCached), "cache ls"},
		{both(c.completeRuns, c.completeCached), "cache pin"},
		{atMost(1, c.completePins), "cache unpin"},
		{both(c.completePins, c.completeCached), "cache push, cache pull"},
		{atMost(1, c.completeIDs), "competition show, mask data"},
		{inTurn(cobra.NoFileCompletions, suffixed("csv")), "competition rank"},
		{cobra.NoFileCompletions, "competition new, worker, grade"},
		{inTurn(files, c.completeIDs), "grade-sample, mask submission"},
		{atMost(1, files), "mask salt"},
		{atMost(1, folders), "fingerprint build, competition rehearsal"},
		{inTurn(files, orFiles(c.completeRuns)), "fingerprint compare"},
	} {
		for command := range strings.SplitSeq(same.commands, ", ") {
			all["mleflow "+command] = same.complete
		}
	}
	return all
}

// anyValue are the keys of values that nothing completes.
var anyValue = []string{
	"--image", "--images", "--title", "--attempt", "KEY@TIME", "--model", "IMAGE", "GLOB", "--experiment-id", "--common", "--power", "ATTEMPTS",
	"N", "NAME", "KEY=VALUE", "TEXT", "SIZE", "SEED", "TIME", "TIMES", "MODELS", "HOURS", "DATE", "DIGEST",
}

// valueCompleters are those of flags; see completerOf for the keys. A value that
// is missing here completes files.
func (c *completion) valueCompleters() map[string]completer {
	values := map[string]completer{
		"--var":                         c.completeVariables,
		"--param":                       c.completeParameters,
		"--reward":                      words(append(harbor.Rewards(false), "sample")...),
		"mleflow init --from":           words(pipeline.ShippedNames()...),
		"--category":                    c.completeCategories,
		"--version":                     c.completeVersions,
		"mleflow leaderboard --class":   words("any", "time=24h", "gpus=1"),
		"mleflow leaderboard --version": words("v1", "v1m", "v2", "v2m"),
		"--against-version":             words("v1", "v1m", "v2", "v2m"),
		"--fail-on":                     words("agent"),
		"--retry":                       c.completeRetry,
		"--exclude-rule":                words(leaderboard.RuleNames()...),
		"--on":                          suffixed("hcl"),
		"--on-interrupt":                words(string(app.AskFirst), string(app.LeaveThem), string(app.StopThem)),
		"--print":                       words("seccomp", "pod"),
		"KIND":                          words("kubernetes"),
		"FOLDER":                        folders,
		"--from":                        words(append(kit.Skeletons(), "kaggle:")...),
		"--table":                       words("figures", "runs"),
		"--cache-dir":                   folders,
		"--format":                      words("text", "markdown", "json", "csv", "parquet", "arrow"),
		"mleflow export --format":       words("parquet", "arrow", "csv", "json"),
		"mleflow export --table":        words("attempts", "snapshots"),
		"mleflow lock --output":         suffixed("hcl"),
		"--remote-cache":                folders,
		"--figure":                      words(board.FigureNames()...),
		"--against":                     orFiles(c.completeRuns),
		"RUN":                           c.completeRuns,
		"ID":                            c.completeIDs,
		"ADDRESS":                       c.completeSteps,
		"SET":                           words(competitions.SetNames()...),
		"DIR":                           folders,
		"URL":                           folders,
		"FILE":                          files,
		"PROGRAM":                       files,
		"mleflow graph --format":        words("dot", "mermaid"),
	}
	for _, key := range anyValue {
		values[key] = cobra.NoFileCompletions
	}
	return values
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
