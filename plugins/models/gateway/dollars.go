package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Dollars is an amount of money in billionths of a US dollar. Sums are exact
// and saturate at the largest amount. In JSON it is a string with a decimal
// number of dollars.
type Dollars int64

// Dollar is one US dollar.
const Dollar Dollars = 1_000_000_000

const most = math.MaxInt64

// String returns the exact amount in dollars without needless zeros: "1.25".
func (d Dollars) String() string {
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%09d", sign, n/uint64(Dollar), n%uint64(Dollar))
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// ParseDollars reads a non-negative decimal number with at most nine decimals,
// such as "20" or "0.125", optionally followed by " USD".
func ParseDollars(text string) (Dollars, error) {
	number := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "USD"))
	units, decimals, dot := strings.Cut(number, ".")
	digits := units + decimals
	if units == "" || dot && decimals == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf(`%q is not an amount of US dollars; write it like "1.25 USD"`, text)
	}
	decimals = strings.TrimRight(decimals, "0")
	if len(decimals) > 9 {
		return 0, fmt.Errorf("%q is finer than a billionth of a US dollar", text)
	}
	var n int64
	for _, c := range units + decimals + strings.Repeat("0", 9-len(decimals)) {
		if n > (most-9)/10 {
			return 0, fmt.Errorf("%q is too much money: at most %s USD", text, Dollars(most/10))
		}
		n = n*10 + int64(c-'0')
	}
	return Dollars(n), nil
}

// MarshalJSON implements json.Marshaler.
func (d Dollars) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Dollars) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	v, err := ParseDollars(text)
	*d = v
	return err
}

// Plus adds two non-negative amounts.
func (d Dollars) Plus(e Dollars) Dollars { return plus(d, e) }

// plus adds two non-negative numbers and saturates.
func plus[N ~int64](a, b N) N {
	if a > most-b {
		return most
	}
	return a + b
}

// times multiplies two non-negative numbers and saturates.
func times[N ~int64](a, b N) N {
	if a != 0 && b > most/a {
		return most
	}
	return a * b
}
