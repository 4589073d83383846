package aggregate

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
)

// TestCostText says of a cost what it rests on, where that is not a measured usage at the
// prices of the list.
func TestCostText(t *testing.T) {
	usd := func(v float64) *float64 { return &v }
	for want, u := range map[string]*results.Usage{
		"-":                           {},
		"3.50":                        {Source: grading.FromGateway, CostUSD: usd(3.5), ListUSD: usd(3.5)},
		"0.00 (18.40 by list prices)": {Source: grading.FromGateway, CostUSD: usd(0), ListUSD: usd(18.4)},
		"4.65 (4.60 estimated)":       {Source: grading.FromGateway, CostUSD: usd(4.65), ListUSD: usd(4.65), EstimatedUSD: usd(4.6)},
		"0.00 (18.40 by list prices, 0.0020 estimated)": {CostUSD: usd(0), ListUSD: usd(18.4), EstimatedUSD: usd(0.002)},
		"0.50 (claimed)":            {Source: grading.FromClaim, CostUSD: usd(0.5)},
		"0.50 (the agent's figure)": {Source: grading.FromAgent, CostUSD: usd(0.5)},
	} {
		if got := CostText(u); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := CostText(nil); got != "-" {
		t.Errorf("without a usage %q", got)
	}
	sum := &results.Usage{}
	sum.Add(&results.Usage{Source: grading.FromGateway, CostUSD: usd(0), ListUSD: usd(2)})
	sum.Add(&results.Usage{Source: grading.FromGateway, CostUSD: usd(1)})
	if got := CostText(sum); got != "1.00 (3.00 by list prices)" {
		t.Errorf("of two attempts %q", got)
	}
}
