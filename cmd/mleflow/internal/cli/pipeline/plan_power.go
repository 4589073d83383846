package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/power"
)

// powerOptions are the flags of plan --power.
type powerOptions struct {
	agents       string
	budget       int
	seeds        int
	competitions int
	figure       string
	// boards hold the agents, first and second, which may also be rates.
	boards        []string
	first, second string
}

func (o *powerOptions) register(cmd *cobra.Command) {
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
	if a.JSON {
		return app.WriteJSON(a.Stdout, p)
	}
	return showPower(a.Terminal, p)
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

func showPower(t *app.Terminal, p *PowerPlan) error {
	from := ""
	if p.Reports[0] > 0 {
		from = fmt.Sprintf(", from %s and %d", view.Plural(p.Reports[0], "attempt"), p.Reports[1])
	}
	fmt.Fprintf(t.Stdout, "%s against %s at %s, %s: a difference of %+.1f points is assumed%s.\n\n",
		view.OneLine(p.First), view.OneLine(p.Second), view.Plural(p.Competitions, "competition"), p.Figure, 100*p.Difference, from)
	table := view.NewTable(">Seeds", ">Attempts", ">Power", ">Smallest p")
	for _, r := range p.Rounds {
		table.Row(strconv.Itoa(r.Seeds), strconv.Itoa(r.Attempts), points(r.Power), board.PText(grading.Number(r.SmallestP)))
	}
	if err := table.Write(t.Stdout, t.OutStyle()); err != nil {
		return err
	}
	last := p.Rounds[len(p.Rounds)-1]
	fmt.Fprintln(t.Stdout)
	if p.Needed != nil {
		fmt.Fprintf(t.Stdout, "%s give a power of 80 %%.\n", view.Plural(*p.Needed, "seed"))
	} else {
		fmt.Fprintf(t.Stdout, "%s do not give a power of 80 %%.\n", view.Plural(last.Seeds, "seed"))
	}
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
	return nil
}

func points(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
