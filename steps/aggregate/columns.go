package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// Used holds the resources that the runs at a competition used, each as the mean over
// the runs for which it is known.
type Used struct {
	WallSeconds *float64 `json:"wall_seconds,omitempty"`
	Validations *float64 `json:"validations,omitempty"`
	// Tokens (input and output) and CostUSD are the model gateway's measurements. For
	// agents that do not use the gateway, they are the agent's own figures.
	Tokens  *float64 `json:"tokens,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// EstimatedUSD is the part of CostUSD that no reported usage settles. ListUSD is the
	// cost by mleflow's price list where the pipeline has other prices.
	EstimatedUSD *float64 `json:"estimated_cost_usd,omitempty"`
	ListUSD      *float64 `json:"list_cost_usd,omitempty"`
}

// usedColumn is a resource that runs used, and its column.
type usedColumn struct {
	name string
	// of is what an attempt used, and field where its mean is; both are nil if unknown.
	of    func(*results.Made) *float64
	field func(*Used) **float64
	show  func(float64) string
}

var usedColumns = []usedColumn{
	{"time", func(a *results.Made) *float64 { return a.WallSeconds }, func(u *Used) **float64 { return &u.WallSeconds }, func(v float64) string {
		return time.Duration(v * float64(time.Second)).Round(time.Second).String()
	}},
	{"validations", validations, func(u *Used) **float64 { return &u.Validations }, func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }},
	{"tokens", ofUsage((*results.Usage).Tokens), func(u *Used) **float64 { return &u.Tokens }, tokensText},
	{"cost (USD)", ofUsage(func(u *results.Usage) *float64 { return u.CostUSD }), func(u *Used) **float64 { return &u.CostUSD }, costText},
	{"by list prices (USD)", ofUsage(otherListUSD), func(u *Used) **float64 { return &u.ListUSD }, costText},
	{"estimated (USD)", ofUsage(func(u *results.Usage) *float64 { return u.EstimatedUSD }), func(u *Used) **float64 { return &u.EstimatedUSD }, costText},
}

func ofUsage(of func(*results.Usage) *float64) func(*results.Made) *float64 {
	return func(a *results.Made) *float64 {
		if a.Usage == nil {
			return nil
		}
		return of(a.Usage)
	}
}

func validations(a *results.Made) *float64 {
	if a.Validations == nil {
		return nil
	}
	return new(float64(*a.Validations))
}

// newUsed returns nil if nothing is known.
func newUsed(runs []Entry) *Used {
	var u Used
	for _, c := range usedColumns {
		sum, n := 0.0, 0
		for _, e := range runs {
			if e.Attempt == nil {
				continue
			}
			if v := c.of(e.Attempt); v != nil {
				sum, n = sum+*v, n+1
			}
		}
		if n > 0 {
			*c.field(&u) = new(sum / float64(n))
		}
	}
	if u == (Used{}) {
		return nil
	}
	return &u
}

func (c usedColumn) text(u *Used) string {
	if u == nil || *c.field(u) == nil {
		return "-"
	}
	return c.show(**c.field(u))
}

// usedColumns returns the columns for which at least one run has a value.
func (b *Board) usedColumns() []usedColumn {
	return slices.DeleteFunc(slices.Clone(usedColumns), func(c usedColumn) bool {
		return !b.anyResult(func(r Result) bool { return r.Used != nil && *c.field(r.Used) != nil })
	})
}

// Cost is what the attempts of an agent cost; nil if that is not known.
func (b *Board) Cost(agent string) *results.Cost {
	return results.CostOf(slices.DeleteFunc(b.attempts(agent), func(a *results.Attempt) bool { return a.Uncounted() != "" }))
}

// costColumn is the cost per medal of each agent under a header; nil if none is known.
func (b *Board) costColumn() []string {
	column, known := []string{"cost per medal (USD)"}, false
	for _, a := range b.Agents {
		text := "-"
		if c := b.Cost(a.Name); c != nil && c.PerMedal != nil {
			text, known = PerMedalText(c), true
		}
		column = append(column, text)
	}
	if !known {
		return nil
	}
	return column
}

// PerMedalText writes what a medal cost, in US dollars, and the source of it unless it was
// measured; "" if that is not known.
func PerMedalText(c *results.Cost) string {
	switch {
	case c == nil || c.PerMedal == nil:
		return ""
	case c.Source != results.MeasuredCost:
		return costText(*c.PerMedal) + " " + c.Source
	}
	return costText(*c.PerMedal)
}

// CostSentence writes what attempts cost, as in "3.20 measured, 1.60 per medal".
func CostSentence(c *results.Cost) string {
	text := costText(c.USD) + " " + c.Source
	if c.Unknown > 0 {
		text += fmt.Sprintf(", and %d attempts of unknown cost", c.Unknown)
	}
	if c.PerMedal != nil {
		text += ", " + costText(*c.PerMedal) + " per medal"
	}
	return text
}

// TokensText returns the number of tokens that an attempt used, or "-" if it is
// unknown.
func TokensText(u *results.Usage) string {
	if n := u.Tokens(); n != nil {
		return tokensText(*n)
	}
	return "-"
}

// CostText returns the cost of an attempt's models in US dollars and what it rests on, as
// in "0.00 (18.40 by list prices)", or "-" if it is unknown.
func CostText(u *results.Usage) string {
	if u == nil || u.CostUSD == nil {
		return "-"
	}
	text := costText(*u.CostUSD)
	if marks := CostMarks(u); marks != "" {
		text += " (" + marks + ")"
	}
	return text
}

// CostMarks says what a cost rests on, if it was not measured or if its prices are not
// those of mleflow's list.
func CostMarks(u *results.Usage) string {
	var marks []string
	switch u.Source {
	case grading.FromAgent:
		marks = append(marks, "the agent's figure")
	case grading.FromClaim:
		marks = append(marks, "claimed")
	}
	if list := otherListUSD(u); list != nil {
		marks = append(marks, costText(*list)+" by list prices")
	}
	if u.EstimatedUSD != nil {
		marks = append(marks, costText(*u.EstimatedUSD)+" estimated")
	}
	return strings.Join(marks, ", ")
}

// otherListUSD is the cost by mleflow's list where it differs from the cost.
func otherListUSD(u *results.Usage) *float64 {
	if u == nil || u.ListUSD == nil || u.CostUSD != nil && *u.ListUSD == *u.CostUSD {
		return nil
	}
	return u.ListUSD
}

func tokensText(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// costText formats an amount with two decimals, or four below a cent.
func costText(usd float64) string {
	decimals := 2
	if usd > 0 && usd < 0.01 {
		decimals = 4
	}
	return strconv.FormatFloat(usd, 'f', decimals, 64)
}

// Labels returns a column for each label of the reports other than agent and seed: its
// name, then its value for each agent. Without all, it omits the labels in which the
// agents agree.
func (b *Board) Labels(all bool) (columns [][]string) {
	values := map[string]map[string][]string{} // by label and agent
	for _, e := range b.Entries {
		for name, value := range e.Labels {
			if values[name] == nil {
				values[name] = map[string][]string{}
			}
			if of := values[name]; !slices.Contains(of[e.Agent], value) {
				of[e.Agent] = append(of[e.Agent], value)
			}
		}
	}
	delete(values, "agent")
	delete(values, "seed")
	for _, name := range slices.SortedFunc(maps.Keys(values), board.CompareNames) {
		column := append([]string{name}, lists.Of(b.Agents, func(a Agent) string { return labelText(values[name][a.Name]) })...)
		if all || slices.ContainsFunc(column[1:], func(text string) bool { return text != column[1] }) {
			columns = append(columns, column)
		}
	}
	return columns
}

// labelText shows the values of a label for one agent: up to three of them, or their
// number.
func labelText(values []string) string {
	switch {
	case len(values) == 0:
		return "-"
	case len(values) > 3:
		return fmt.Sprintf("%d values", len(values))
	}
	return strings.Join(slices.SortedFunc(slices.Values(values), board.CompareNames), ", ")
}

// withLabels inserts columns after the first two of a summary: all labels, or those in
// which agents differ and what their figures rest on if that differs, as many as fit.
func (b *Board) withLabels(columns [][]string, width int, all bool) [][]string {
	at, added := 2, b.Labels(all)
	if !all {
		_, basis := b.basis()
		added = append(basis, added...)
	}
	for _, label := range added {
		if wider := slices.Insert(slices.Clone(columns), at, plain.Pad(label, true)); all || plain.Size(wider) <= width {
			columns, at = wider, at+1
		}
	}
	return columns
}

// summaryColumn is a column of the summary, from an agent and the sum of its runs.
type summaryColumn struct {
	name string
	of   func(Agent, Result) string
}

// summaryColumns are those after place and agent: the figures that order the board first. A
// board without leaderboards has none of medals.
func (b *Board) summaryColumns() (out []summaryColumn) {
	add := func(when bool, name string, of func(Agent, Result) string) {
		if when {
			out = append(out, summaryColumn{name, of})
		}
	}
	rule, ranked, medals := b.Rule(), b.ranked(), !b.Medalless()
	if rule != nil {
		add(true, rule.Aggregate, func(a Agent, _ Result) string { v, _ := a.Ruled.Text(); return v })
		add(true, "95 %", func(a Agent, _ Result) string { _, i := a.Ruled.Text(); return i })
		add(rule.Compares(), "wins", func(a Agent, _ Result) string { return a.Ruled.WinsText() })
		add(true, "tie group", func(a Agent, _ Result) string { return a.Ruled.GroupText() })
	}
	add(ranked, "mean rank", func(a Agent, _ Result) string { mean, _ := a.Rank.Text(); return mean })
	add(ranked, "wins", func(a Agent, _ Result) string { _, wins := a.Rank.Text(); return wins })
	add(medals && rule == nil, "any medal", func(a Agent, _ Result) string { return a.Overall.percentage("any_medal_percentage") })
	add(medals, "G/S/B", func(_ Agent, sum Result) string {
		return sum.medals(fmt.Sprintf("%d/%d/%d", sum.Gold, sum.Silver, sum.Bronze))
	})
	add(len(b.Competitions()) == 1, "score", func(a Agent, _ Result) string { return a.Competitions[0].scoreText() })
	add(true, "valid", func(_ Agent, sum Result) string { return fmt.Sprintf("%d/%d", sum.Valid, sum.Runs) })
	add(medals, "above median", func(_ Agent, sum Result) string { return sum.medals(fmt.Sprintf("%d/%d", sum.AboveMedian, sum.Runs)) })
	return out
}
