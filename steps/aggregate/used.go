package aggregate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// newUsed returns nil if nothing is known.
func newUsed(runs []Entry) *Used {
	mean := func(of func(*results.Made) *float64) *float64 {
		sum, n := 0.0, 0
		for _, e := range runs {
			if e.Attempt == nil {
				continue
			}
			if v := of(e.Attempt); v != nil {
				sum, n = sum+*v, n+1
			}
		}
		if n == 0 {
			return nil
		}
		sum /= float64(n)
		return &sum
	}
	used := func(of func(*results.Usage) *float64) *float64 {
		return mean(func(a *results.Made) *float64 {
			if a.Usage == nil {
				return nil
			}
			return of(a.Usage)
		})
	}
	u := Used{
		WallSeconds:  mean(func(a *results.Made) *float64 { return a.WallSeconds }),
		Validations:  mean(validations),
		Tokens:       used((*results.Usage).Tokens),
		CostUSD:      used(func(u *results.Usage) *float64 { return u.CostUSD }),
		ListUSD:      used(otherListUSD),
		EstimatedUSD: used(func(u *results.Usage) *float64 { return u.EstimatedUSD }),
	}
	if u == (Used{}) {
		return nil
	}
	return &u
}

func validations(a *results.Made) *float64 {
	if a.Validations == nil {
		return nil
	}
	n := float64(*a.Validations)
	return &n
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
