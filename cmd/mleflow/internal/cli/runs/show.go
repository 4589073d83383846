package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/proof"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// NewShow returns the command show.
func NewShow(a *app.App) *cobra.Command {
	var disclosure, markdown, full, hours, integrity bool
	cmd := a.RunCommand("show [RUN]", "Show what a run did", app.Takes(0, 1), func(cmd *cobra.Command, past *history.Past, _ []string) error {
		if markdown && (a.JSON || !disclosure) {
			return app.Usagef("--markdown goes with --disclosure and cannot be combined with --json")
		}
		if disclosure {
			return proof.Disclose(cmd.Context(), a, past, markdown)
		}
		if integrity {
			return showIntegrity(cmd.Context(), a, past)
		}
		if a.JSON {
			out, err := Shown(a.Store, past)
			if err != nil {
				return err
			}
			return app.WriteJSON(a.Stdout, out)
		}
		sum, err := past.Summary()
		if err != nil {
			return err
		}
		if hours {
			view.Hours(a.Stdout, hoursOf(past, sum), a.OutStyle())
			return nil
		}
		state := underWay(past)
		if err := a.DrawBoards(cmd.Context(), nil, past, sum, full); err != nil {
			return err
		}
		showRun(a.Store, sum, state)
		if !boardless(sum) {
			return nil
		}
		if err := showOwnBoard(cmd.Context(), a, sum, full); err != nil {
			a.Warn(fmt.Sprintf("Cannot show a leaderboard: %v", err))
		}
		return nil
	})
	cmd.Flags().BoolVar(&full, "full", false, "print all tables of leaderboards")
	cmd.Flags().BoolVar(&hours, "hours", false, "print where the time of the attempts went")
	cmd.Flags().BoolVar(&integrity, "integrity", false, "print the integrity of the attempts with its evidence")
	cmd.Flags().BoolVar(&disclosure, "disclosure", false, "print the attempts' conditions")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "with --disclosure, print Markdown")
	return cmd
}

// showIntegrity prints the labels of a run's attempts and the evidence, from the cache's
// records.
func showIntegrity(ctx context.Context, a *app.App, past *history.Past) error {
	list, left, err := leaderboard.RunRecords(ctx, a, past)
	if err != nil {
		return err
	}
	leaderboard.TellLeft(a, left)
	out := AttemptsJSON{Attempts: []AttemptEntry{}}
	names := attempts.Names(list)
	for i, one := range list {
		out.Attempts = append(out.Attempts, entryOf(one, names[i], &history.Summary{}))
	}
	return a.Show(out, func() {
		if len(list) == 0 {
			fmt.Fprintln(a.Stdout, "The run has no attempts.")
		}
		for _, e := range out.Attempts {
			if e.Integrity == nil {
				continue
			}
			style, label := a.OutStyle(), e.Integrity.Text()
			fmt.Fprintf(a.Stdout, "%s  %s\n", view.OneLine(e.Name), view.Either(e.Integrity.Label.Failing(), style.Bad(label), label))
			for _, line := range e.Integrity.Lines() {
				fmt.Fprintf(a.Stdout, "  %s\n", view.OneLine(line))
			}
		}
	})
}

// Shown is a run as show --json has it.
func Shown(s *app.Store, past *history.Past) (RunJSON, error) {
	sum, err := past.Summary()
	if err != nil {
		return RunJSON{}, err
	}
	out := showJSON(sum, outcomes(s, sum))
	out.Hours = hoursOf(past, sum)
	if state := underWay(past); state != nil {
		out.UnderWay = state.UnderWay()
	}
	return out, nil
}

// hoursOf is where the time of a run's attempts went; nil of a run without a plan.
func hoursOf(past *history.Past, sum *history.Summary) []*results.Hours {
	p, err := past.Plan()
	if err != nil {
		return nil
	}
	return results.HoursOf(attempts.JournalOf(p, sum).List())
}

// underWay is the state of a run in progress, with the last lines that its
// steps printed; nil of one that has ended.
func underWay(past *history.Past) *view.State {
	if !past.Running() {
		return nil
	}
	state := view.NewState()
	for e, err := range past.Events() {
		if err != nil {
			return nil
		}
		state.Apply(e)
	}
	state.LastLines(func(address string) string { return strings.Join(past.Tail(address, 1), "") })
	return state
}

// showRun prints a run; now is its state if it is in progress.
func showRun(st *app.Store, sum *history.Summary, now *view.State) {
	style := st.OutStyle()
	fmt.Fprintf(st.Stdout, "%s\n", style.Bold("Run "+sum.ID+" "+sum.Called(sum.ID)))
	fmt.Fprintf(st.Stdout, "pipeline  %s\nstarted   %s on %s by mleflow %s\nstate     %s\n", view.OneLine(sum.Pipeline),
		sum.Started.Local().Format("2006-01-02 15:04:05"), view.OneLine(sum.Host), view.OneLine(sum.Version), sum.State)
	if sum.OfOthers() {
		fmt.Fprintf(st.Stdout, "user      %s\n", view.OneLine(sum.User))
	}
	if sum.Resumed != "" {
		fmt.Fprintf(st.Stdout, "continues %s\n", view.OneLine(sum.Resumed))
	}
	if said := sum.Said(); said != "" {
		fmt.Fprintf(st.Stdout, "tags      %s\n", view.OneLine(said))
	}
	if now != nil {
		view.WriteUnderWay(st.Stdout, now, style, view.Width(st.Stdout), time.Now())
	}
	view.Steps(st.Stdout, sum, style, st.Verbose)
	for _, text := range view.Warnings(sum.Warnings) {
		fmt.Fprintf(st.Stdout, "%s %s\n", style.Warn("Warning:"), text)
	}
	for _, text := range view.Acts(sum.Steered) {
		fmt.Fprintln(st.Stdout, view.Capital(text))
	}
	state := view.NewState()
	state.Start.Run = sum.ID
	state.Outcomes, state.Attempts = outcomes(st, sum), app.AttemptsOf(sum)
	for _, s := range view.InOrder(sum.Steps, view.StepAddress) {
		if s.Status == event.Failed {
			state.Failures = append(state.Failures, view.Failure{StepFinished: event.StepFinished{Address: s.Address, Error: s.Error}})
		}
	}
	state.End, state.Published, state.Evaluation = sum.Finish, sum.Published, sum.Evaluation
	fmt.Fprintln(st.Stdout)
	view.Summary(st.Stdout, state, style)
	view.Outputs(st.Stdout, sum.ID, sum.Outputs, style)
}

// boardless reports whether a run has graded attempts and no leaderboard of its
// own, or none yet.
func boardless(sum *history.Summary) bool {
	graded := false
	for i := range sum.Steps {
		if ended := sum.Steps[i].Status.Succeeded(); ended && sum.Steps[i].Kind == "aggregate" {
			return false
		} else if ended && sum.Steps[i].Kind == conditions.GradeKind {
			graded = true
		}
	}
	return graded
}

// showOwnBoard prints the leaderboard of the attempts that a run has graded.
func showOwnBoard(ctx context.Context, a *app.App, sum *history.Summary, full bool) error {
	made, graded, err := leaderboard.OwnBoard(ctx, a, sum.ID)
	if err != nil {
		return err
	}
	partial := sum.Finish == nil || sum.Finish.Status != event.Ran
	title := "Leaderboard" + view.When(partial, " so far, "+view.PartialText(graded, view.ToGrade(sum.Start)))
	fmt.Fprintf(a.Stdout, "\n%s", app.Drawn(a.Terminal, made, title, full))
	return nil
}

// outcomes are how the attempts of a run ended, with their causes.
func outcomes(s *app.Store, sum *history.Summary) (o view.Outcomes) {
	o = view.OutcomesOf(sum)
	o.Explain(len(o.Problems), s.Tail)
	return o
}

// RunJSON is the form of show --json.
type RunJSON struct {
	history.Entry
	// Untrusted says that an attempt was not isolated; see conditions.Untrusted.
	Untrusted bool                `json:"untrusted"`
	Steps     []stepJSON          `json:"steps"`
	Outputs   []event.OutputValue `json:"outputs"`
	// Evaluation is the state of the pipeline's evaluation.
	Evaluation *plan.Evaluation `json:"evaluation,omitempty"`
	Warnings   []event.Warning  `json:"warnings"`
	// Acts are the answers to what people asked of the run and its attempts.
	Acts []event.Steered `json:"acts,omitempty"`
	// Outcomes are how attempts and their grading ended.
	Outcomes view.Outcomes `json:"outcomes"`
	// Hours are where the time of its attempts went, by agent and at the end of all.
	Hours []*results.Hours `json:"hours,omitempty"`
	// Nodes are what it used of the nodes of a cluster.
	Nodes []nodeJSON `json:"nodes,omitempty"`
	// UnderWay is the state of a run in progress.
	UnderWay *view.UnderWay `json:"under_way,omitempty"`
}

type stepJSON struct {
	Address        string            `json:"address"`
	Kind           string            `json:"kind"`
	Status         event.Status      `json:"status"`
	Action         string            `json:"action,omitempty"`
	Attempts       int               `json:"attempts"`
	DurationMillis int64             `json:"duration_ms"`
	Error          string            `json:"error,omitempty"`
	Reason         string            `json:"reason,omitempty"`
	Outputs        map[string]string `json:"outputs,omitempty"`
	Conditions     []string          `json:"conditions,omitempty"`
	On             string            `json:"on,omitempty"`
	Node           string            `json:"node,omitempty"`
}

// nodeJSON is what a run used of a node of a cluster.
type nodeJSON struct {
	history.NodeUse
	GPUMillis     int64 `json:"gpu_ms"`
	IdleGPUMillis int64 `json:"idle_gpu_ms"`
}

func showJSON(sum *history.Summary, outcomes view.Outcomes) RunJSON {
	out := RunJSON{Entry: sum.Entry, Outputs: append([]event.OutputValue{}, sum.Outputs...), Warnings: append([]event.Warning{}, sum.Warnings...), Outcomes: outcomes, Evaluation: sum.Evaluation, Acts: sum.Steered}
	out.Steps = lists.Of(sum.Steps, func(s history.StepSummary) stepJSON {
		return stepJSON{Address: s.Address, Kind: s.Kind, Status: s.Status, Action: s.Action, Attempts: s.LastTry,
			DurationMillis: s.Duration.Milliseconds(), Error: s.Error, Reason: s.Reason, Outputs: s.Outputs, Conditions: s.Conditions, On: s.On, Node: s.Node}
	})
	out.Nodes = lists.Of(sum.Nodes(), func(u history.NodeUse) nodeJSON {
		return nodeJSON{u, u.GPUTime.Milliseconds(), u.IdleGPUTime.Milliseconds()}
	})
	out.Untrusted = app.AttemptsOf(sum).Untrusted()
	return out
}

// NewReport returns the command report.
func NewReport(a *app.App) *cobra.Command {
	var out string
	cmd := a.Command("report [RUN] -o FILE.html",
		"Write a run as one HTML file that opens offline", app.Needs(app.Takes(0, 1), "output"),
		func(cmd *cobra.Command, args []string) error { return WriteReport(cmd.Context(), a, args, out) })
	cmd.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write (required)")
	return cmd
}

// WriteReport writes the page of the run that the arguments name.
func WriteReport(ctx context.Context, a *app.App, args []string, out string) error {
	past, err := a.FindRun(args)
	if err != nil {
		return err
	}
	runs, err := a.OpenHistory()
	if err != nil {
		return err
	}
	src := ui.Source{History: runs, Catalog: a.CatalogOf, Results: func(past *history.Past, use func(ui.Results) error) error {
		return a.WithResults(past, func(c app.ResultCache) error { return use(c) })
	}}
	file, err := src.RunReport(ctx, past)
	if err != nil {
		return err
	}
	if out == "-" {
		_, err = a.Stdout.Write(file)
		return err
	}
	if err := wholefile.Replace(out, wholefile.Bytes(file)); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return a.Show(map[string]string{"run": past.Info.ID, "path": out}, func() {
		fmt.Fprintf(a.Stdout, "Wrote %s (run %s).\n", out, past.Info.ID)
	})
}
