package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/power"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// NewPlan returns the command plan.
func NewPlan(a *app.App) *cobra.Command {
	var in app.InputFlags
	var sel app.SelectFlags
	var preflight, commit bool
	var out string
	var on app.ClusterFlags
	var compare powerOptions
	files := func(cmd *cobra.Command, args []string) error {
		if compare.agents != "" {
			return nil
		}
		return app.OneFile(cmd, args)
	}
	cmd := a.Command("plan [FILE.hcl]", "Say what apply would run, and why", files, func(cmd *cobra.Command, args []string) error {
		if out != "" && (compare.agents != "" || commit) {
			return app.Usagef("--out saves a plan of a pipeline for apply; leave --power and --commit out")
		}
		if compare.agents != "" {
			return planPower(cmd.Context(), a, compare, args)
		}
		return a.WithProgram(cmd.Context(), args, in, &on, func(b *app.Backend, p *engine.Program) error {
			opts, err := selected(a, &sel, b, p)
			if err != nil {
				return err
			}
			var asked *view.State
			if preflight {
				asked = view.NewState()
				opts.Preflight = event.SinkFunc(asked.Apply)
			}
			defer app.FewCollections()()
			if err := b.Cache.Intact(); err != nil {
				a.Warn(err.Error())
			}
			if opts.Exact = out != ""; opts.Exact {
				if err := checkOut(out); err != nil {
					return err
				}
			}
			pl, diags := b.Engine.Plan(cmd.Context(), p, opts)
			if err := a.Settle(diags, p); err != nil {
				return err
			}
			if commit {
				return showCommitment(a.Terminal, b, p, pl)
			}
			if err := showPlan(a.Terminal, pl, asked); err != nil || out == "" {
				return err
			}
			return savePlan(a, out, &sel, p, pl)
		})
	}, &in, &sel, &on, &a.Network, &compare)
	cmd.Flags().BoolVar(&preflight, "preflight", false, "ask the data's places for credential, rules and size, as apply does first")
	cmd.Flags().StringVar(&out, "out", "", "save the plan to `FILE`, which mleflow apply FILE runs exactly or refuses")
	cmd.Flags().BoolVar(&commit, "commit", false, "print only the digest of pipeline, variables, attempts and chain, to be published before apply; see docs/verify.md")
	return cmd
}

// CommitmentJSON is what plan --commit --json prints.
type CommitmentJSON struct {
	Commitment string `json:"commitment"`
	Attempts   int    `json:"attempts"`
}

// showCommitment prints what an apply would declare in the chain.
func showCommitment(t *app.Terminal, b *app.Backend, p *engine.Program, pl *plan.Plan) error {
	id, n, errID := b.Engine.Commitment(p, pl)
	path, err := filepath.Abs(p.Pipeline.Path)
	if err := cmp.Or(errID, err); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		if bundle.Hides(p.Variables[name], path, b.Cache.Dir()) {
			return app.Wrong(fmt.Errorf("the variable %q names a folder or the host of this machine, which a bundle hides, so that nobody could check the commitment; give a relative path", name))
		}
	}
	if n == 0 {
		return app.Wrong(fmt.Errorf("%s has no agent-run step, so there is nothing to commit to", pl.Pipeline))
	}
	return t.Show(CommitmentJSON{"sha256:" + id.String(), n}, func() {
		fmt.Fprintf(t.Stdout, "sha256:%s\n", id)
		fmt.Fprintf(t.Stderr, "It declares %s. Publish it with a time stamp before mleflow apply; any other apply in this cache changes it.\n", view.Plural(n, "attempt"))
	})
}

// showPlan prints a plan, and what the preflight found if there was one. A
// preflight that failed makes the command fail.
func showPlan(t *app.Terminal, pl *plan.Plan, asked *view.State) error {
	if t.JSON {
		return writePlan(t, pl, asked)
	}
	view.Plan(t.Stdout, pl, t.OutStyle(), t.Verbose)
	if asked == nil {
		return nil
	}
	fmt.Fprintln(t.Stdout)
	if len(asked.Preflights) == 0 {
		fmt.Fprintln(t.Stdout, "Preflight: there is nothing to fetch.")
		return nil
	}
	view.Preflights(t.Stdout, &asked.Run, t.OutStyle())
	return preflightOutcome(asked)
}

func writePlan(t *app.Terminal, pl *plan.Plan, asked *view.State) error {
	pl.Steps = append([]plan.Step{}, pl.Steps...)
	for i := range pl.Steps {
		s := &pl.Steps[i]
		s.Reasons = append([]plan.Reason{}, s.Reasons...)
	}
	whole := struct {
		*plan.Plan
		Preflight []event.Preflight `json:"preflight,omitempty"`
	}{Plan: pl}
	if asked != nil {
		whole.Preflight = asked.Preflights
	}
	enc := json.NewEncoder(t.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(whole); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return preflightOutcome(asked)
}

// preflightOutcome is an error, whose text was shown, if something failed.
func preflightOutcome(asked *view.State) error {
	if asked != nil && asked.Surveyed.Failed > 0 {
		return fmt.Errorf("%w: preflight failed", app.ErrSilent)
	}
	return nil
}

// powerOptions are the flags of plan --power.
type powerOptions struct {
	agents                      string
	budget, seeds, competitions int
	figure                      string
	// boards hold the agents, first and second, which may also be rates.
	boards        []string
	first, second string
}

// Register adds the flags.
func (o *powerOptions) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.agents, "power", "", "plan a comparison: \"`A vs B`\", two agents of the given boards, or two rates such as \"30% vs 20%\"")
	flags.IntVar(&o.budget, "budget", 0, "with --power, at most `ATTEMPTS` of both agents")
	flags.IntVar(&o.seeds, "seeds", 10, "with --power, show up to `N` seeds")
	flags.IntVar(&o.competitions, "over", 22, "with --power and rates, `N` competitions")
	flags.StringVar(&o.figure, "figure", "any_medal", "with --power, success: a `FIGURE` of the leaderboard, without _percentage")
}

// The level of the test, the power that is aimed at, and the difference for which an
// evaluate block looks by default. Powers are of so many simulations.
const (
	powerLevel      = 0.05
	powerTarget     = 0.8
	powerDifference = 0.05
	powerDraws      = 1000
	evaluateDraws   = 200
)

// PowerPlan is what plan --power says.
type PowerPlan struct {
	First        string  `json:"first"`
	Second       string  `json:"second"`
	Figure       string  `json:"figure"`
	Competitions int     `json:"competitions"`
	Difference   float64 `json:"difference"`
	// Test is what the rounds have the power of, drawn in so many simulations.
	Test        string        `json:"test"`
	Simulations int           `json:"simulations"`
	Rounds      []power.Round `json:"rounds"`
	// Needed are the fewest seeds with the power that is aimed at, and
	// Detectable what the last round could show; nil if nothing does.
	Needed     *int     `json:"seeds_needed"`
	Detectable *float64 `json:"detectable_difference"`
	// Evaluate is what an evaluate block with the attempts of the last round does.
	Evaluate power.Expected `json:"evaluate"`
	Rates    []power.Rates  `json:"rates"`
	// Reports are the attempts of each agent that the rates are from; none if the
	// rates were given.
	Reports [2]int `json:"reports"`
}

func planPower(ctx context.Context, a *app.App, o powerOptions, boards []string) error {
	first, second, ok := strings.Cut(o.agents, " vs ")
	o.boards, o.first, o.second = boards, strings.TrimSpace(first), strings.TrimSpace(second)
	if !ok || o.first == "" || o.second == "" {
		return app.Usagef("--power is %q; it must name two agents or two rates: --power 'aide vs dummy', --power '30%% vs 20%%'", o.agents)
	}
	rates, reports, err := powerRates(ctx, a, o)
	if err != nil {
		return app.Wrong(err)
	}
	rounds := o.seeds
	if o.budget > 0 {
		rounds = min(rounds, o.budget/(2*len(rates)))
	}
	if rounds < 1 {
		return app.Usagef("one seed at %s takes %d attempts of both agents, more than the budget of %d", view.Plural(len(rates), "competition"), 2*len(rates), o.budget)
	}
	p, err := makePowerPlan(rates, rounds)
	if err != nil {
		return app.Wrong(err)
	}
	p.First, p.Second, p.Figure, p.Reports = o.first, o.second, o.figure, reports
	return a.Show(p, func() { showPower(a.Terminal, p) })
}

func makePowerPlan(rates []power.Rates, rounds int) (*PowerPlan, error) {
	test := power.Test{Alpha: powerLevel, Simulations: powerDraws}
	p := &PowerPlan{Competitions: len(rates), Difference: power.Difference(rates), Test: "permutation", Simulations: powerDraws, Rates: rates}
	var err error
	if p.Rounds, err = test.Plan(rates, rounds); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.Rounds, func(r power.Round) bool { return r.Power >= powerTarget }); i >= 0 {
		p.Needed = &p.Rounds[i].Seeds
	}
	detectable, err := test.Detectable(rates, rounds, powerTarget)
	if err != nil {
		return nil, err
	}
	if !math.IsNaN(detectable) {
		p.Detectable = &detectable
	}
	p.Evaluate, err = power.Expect(rates, power.Design{Difference: powerDifference, Confidence: 1 - powerLevel, Pairs: rounds * len(rates)}, evaluateDraws)
	return p, err
}

// powerRates are the rates that are given, or those of the agents in boards.
func powerRates(ctx context.Context, a *app.App, o powerOptions) (rates []power.Rates, reports [2]int, err error) {
	x, errX := parseRate(o.first)
	y, errY := parseRate(o.second)
	if errX == nil && errY == nil && len(o.boards) == 0 {
		if o.competitions < 1 {
			return nil, reports, fmt.Errorf("--over is %d; it must be at least 1", o.competitions)
		}
		return power.Given(x, y, o.competitions), reports, nil
	}
	if len(o.boards) == 0 {
		return nil, reports, errors.New("name the boards, reports or runs that hold the agents, or give two rates: --power '30% vs 20%'")
	}
	holds, err := board.Figure(o.figure)
	if err != nil {
		return nil, reports, err
	}
	given, err := leaderboard.Gather(ctx, a, o.boards, leaderboard.RuleFlags{})
	if err != nil {
		return nil, reports, err
	}
	file := given.File(a.Terminal, "")
	var both [2][]grading.Graded
	for i, agent := range []string{o.first, o.second} {
		s, err := board.Selection{Agent: agent, Partial: true}.Of(file, given.Paths)
		if err != nil {
			return nil, reports, fmt.Errorf("agent %s: %w", agent, err)
		}
		both[i], reports[i] = s.File.Reports, len(s.File.Reports)
	}
	rates, err = power.FromReports(both[0], both[1], holds)
	return rates, reports, err
}

// parseRate reads "0.3" or "30%".
func parseRate(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	rate, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		rate /= 100
	}
	return rate, err
}

func showPower(t *app.Terminal, p *PowerPlan) {
	from := view.When(p.Reports[0] > 0, fmt.Sprintf(", from %s and %d", view.Plural(p.Reports[0], "attempt"), p.Reports[1]))
	fmt.Fprintf(t.Stdout, "%s against %s at %s, %s: a difference of %+.1f points is assumed%s.\n\n",
		view.OneLine(p.First), view.OneLine(p.Second), view.Plural(p.Competitions, "competition"), p.Figure, 100*p.Difference, from)
	table := view.NewTable(">Seeds", ">Attempts", ">Power", ">Smallest p")
	for _, r := range p.Rounds {
		table.Row(strconv.Itoa(r.Seeds), strconv.Itoa(r.Attempts), points(r.Power), board.PText(grading.Number(r.SmallestP)))
	}
	t.Table(table)
	last := p.Rounds[len(p.Rounds)-1]
	fmt.Fprintln(t.Stdout)
	enough := view.Plural(last.Seeds, "seed") + " do not"
	if p.Needed != nil {
		enough = view.Plural(*p.Needed, "seed")
	}
	fmt.Fprintf(t.Stdout, "%s give a power of 80 %%.\n", enough)
	if p.Detectable != nil {
		fmt.Fprintf(t.Stdout, "With %s, a difference of %.1f points would be shown with a power of 80 %%.\n", view.Plural(last.Seeds, "seed"), 100**p.Detectable)
	}
	if last.SmallestP > powerLevel {
		fmt.Fprintf(t.Stdout, "No outcome of so few attempts has a p of %g or less. Take more seeds or competitions.\n", powerLevel)
	}
	fmt.Fprintf(t.Stdout, "An evaluate block with %s answers within them with a probability of %s, after %.0f attempts on average.\n",
		view.Plural(last.Attempts, "attempt"), points(p.Evaluate.Answered), p.Evaluate.Attempts)
	fmt.Fprintf(t.Stdout, "Power: p of leaderboard --against is at most %g, in one figure that is chosen beforehand. It is of %d simulations, ± %.0f points, and as good as the rates.\n",
		powerLevel, p.Simulations, math.Ceil(100/math.Sqrt(float64(p.Simulations))))
}

func points(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
