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

// The level of the tests, the power that is aimed at, and the certainty that a
// subset keeps.
const (
	powerLevel  = 0.05
	powerTarget = 0.8
	powerKeep   = 0.95
)

// PowerPlan is what plan --power says.
type PowerPlan struct {
	First        string        `json:"first"`
	Second       string        `json:"second"`
	Figure       string        `json:"figure"`
	Competitions int           `json:"competitions"`
	Difference   float64       `json:"difference"`
	Rounds       []power.Round `json:"rounds"`
	// Needed are the fewest seeds with the power that is aimed at, and
	// Detectable what the last round could show; nil if nothing does.
	Needed     *int          `json:"seeds_needed"`
	Detectable *float64      `json:"detectable_difference"`
	Subset     *power.Subset `json:"subset"`
	Rates      []power.Rates `json:"rates"`
}

func planPower(ctx context.Context, a *app.App, o powerOptions, boards []string) error {
	first, second, ok := strings.Cut(o.agents, " vs ")
	o.boards, o.first, o.second = boards, strings.TrimSpace(first), strings.TrimSpace(second)
	if !ok || o.first == "" || o.second == "" {
		return app.Usagef("--power is %q; it must name two agents or two rates: --power 'aide vs dummy', --power '30%% vs 20%%'", o.agents)
	}
	rates, err := powerRates(ctx, a, o)
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
	p.First, p.Second, p.Figure = o.first, o.second, o.figure
	if a.JSON {
		return app.WriteJSON(a.Stdout, p)
	}
	return showPower(a.Terminal, p)
}

func makePowerPlan(rates []power.Rates, rounds int) (*PowerPlan, error) {
	test := power.Test{Alpha: powerLevel}
	p := &PowerPlan{Competitions: len(rates), Difference: power.Difference(rates), Rates: rates}
	var err error
	if p.Rounds, err = test.Plan(rates, rounds); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.Rounds, func(r power.Round) bool { return r.Fixed >= powerTarget }); i >= 0 {
		p.Needed = &p.Rounds[i].Seeds
	}
	detectable, err := test.Detectable(rates, rounds, powerTarget)
	if err != nil {
		return nil, err
	}
	if !math.IsNaN(detectable) {
		p.Detectable = &detectable
	}
	if s, ok := power.Cheapest(rates, rounds, powerKeep); ok {
		p.Subset = &s
	}
	return p, nil
}

// powerRates are the rates that are given, or those of the agents in boards.
func powerRates(ctx context.Context, a *app.App, o powerOptions) ([]power.Rates, error) {
	x, errX := parseRate(o.first)
	y, errY := parseRate(o.second)
	if errX == nil && errY == nil && len(o.boards) == 0 {
		if o.competitions < 1 {
			return nil, fmt.Errorf("--over is %d; it must be at least 1", o.competitions)
		}
		return power.Given(x, y, o.competitions), nil
	}
	if len(o.boards) == 0 {
		return nil, errors.New("name the boards, reports or runs that hold the agents, or give two rates: --power '30% vs 20%'")
	}
	holds, err := board.Figure(o.figure)
	if err != nil {
		return nil, err
	}
	all, err := leaderboard.ReadRuns(ctx, a, o.boards...)
	if err != nil {
		return nil, err
	}
	of := func(agent string) (found []grading.Graded, err error) {
		for _, r := range all.Reports {
			if r.Labels["agent"] == agent {
				found = append(found, r)
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no report is of the agent %q", agent)
		}
		return found, nil
	}
	one, err := of(o.first)
	if err != nil {
		return nil, err
	}
	two, err := of(o.second)
	if err != nil {
		return nil, err
	}
	return power.FromReports(one, two, holds)
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
	fmt.Fprintf(t.Stdout, "%s against %s at %s, %s: a difference of %+.1f points is assumed.\n\n",
		view.OneLine(p.First), view.OneLine(p.Second), view.Plural(p.Competitions, "competition"), p.Figure, 100*p.Difference)
	table := view.NewTable(">Seeds", ">Attempts", ">Power", ">Stopped by now", ">Attempts with stopping")
	for _, r := range p.Rounds {
		table.Row(strconv.Itoa(r.Seeds), strconv.Itoa(r.Attempts), points(r.Fixed), points(r.Sequential), fmt.Sprintf("%.0f", r.Expected))
	}
	if err := table.Write(t.Stdout, t.OutStyle()); err != nil {
		return err
	}
	last := p.Rounds[len(p.Rounds)-1].Seeds
	fmt.Fprintln(t.Stdout)
	if p.Needed != nil {
		fmt.Fprintf(t.Stdout, "%s give a power of 80 %%.\n", view.Plural(*p.Needed, "seed"))
	} else {
		fmt.Fprintf(t.Stdout, "%s do not give a power of 80 %%.\n", view.Plural(last, "seed"))
	}
	if p.Detectable != nil {
		fmt.Fprintf(t.Stdout, "With %s, a difference of %.1f points would be shown with a power of 80 %%.\n", view.Plural(last, "seed"), 100**p.Detectable)
	}
	if p.Subset != nil && len(p.Subset.Competitions) < p.Competitions {
		fmt.Fprintf(t.Stdout, "%s keep the ranking with a probability of %s (optimistic: the same rates chose them): %s.\n",
			view.Plural(len(p.Subset.Competitions), "competition"), points(p.Subset.Keeps), strings.Join(p.Subset.Competitions, ", "))
	}
	return nil
}

func points(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
