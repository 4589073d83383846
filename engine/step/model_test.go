package step_test

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/step"
)

func TestParseMoney(t *testing.T) {
	for text, want := range map[string]int64{"20 USD": 20e9, "0.125 USD": 125e6, "0 USD": 0, " 1.000000001  USD ": 1e9 + 1, "1000000000 USD": 1e18, ".5 USD": 5e8} {
		if got, err := step.ParseMoney(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "no unit", "20": "no unit", "USD 20": "no unit", "20 EUR": "no unit", "20USD": "no unit", "20 usd": "no unit", "20 USD USD": "no unit",
		"-1 USD": "not negative", "+1 USD": "not an amount", "1e3 USD": "not an amount", "1/2 USD": "not an amount", "NaN USD": "not an amount",
		"1.2.3 USD": "not an amount", ". USD": "not an amount", "0.0000000001 USD": "nine decimals", "1000000000.1 USD": "more than",
		strings.Repeat("9", 100) + " USD": "more than",
	} {
		if _, err := step.ParseMoney(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
