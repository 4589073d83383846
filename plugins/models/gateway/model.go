package gateway

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// Model is one model block of a pipeline.
type Model struct {
	// Name is the block's label. Provider is the name of a dialect.
	Name     string
	Provider string
	// BaseURL is the endpoint. If it is empty, the dialect's own is used. Its
	// path replaces the path of the dialect's endpoint. See CheckBaseURL.
	BaseURL string
	// Models are patterns ("gpt-5*") of the allowed models. An asterisk matches
	// any characters.
	Models []string
	// Grants are the allowed provider-side abilities.
	Grants dialect.Grants
	// Prices are the pipeline's prices by pattern. They take precedence over
	// the table. The longest matching pattern wins.
	Prices map[string]Price
	// Budget limits each attempt.
	Budget Limits
	Retry  Retry
	// RecordTokens is the kind of server that is asked for token ids, one of
	// dialect.TokenServers, or "" for none.
	RecordTokens string
}

// Allows reports whether the agent may ask for a model.
func (m *Model) Allows(name string) bool {
	return slices.ContainsFunc(m.Models, func(pattern string) bool { return matches(pattern, name) })
}

// Limits are the budget of an attempt or a run. A zero field means no limit.
type Limits struct {
	Cost     Dollars
	Tokens   int64
	Requests int64
	// PerMinute and Concurrent limit the rate. A request beyond them is refused
	// with a time to retry and costs nothing. PerMinute holds for any sixty
	// seconds.
	PerMinute  int
	Concurrent int
	// ToolCalls is the number of provider-side tool calls reserved for a
	// request that sets no limit itself.
	ToolCalls int64
}

// Retry configures the gateway's own retries, which happen only before the
// first byte of a response reaches the client. The zero value retries nothing.
type Retry struct {
	// Attempts is the maximum number of times that a request is sent. Longest
	// is the longest wait between two attempts, a minute if it is 0. If the
	// provider asks for a longer wait, the gateway gives up.
	Attempts int
	Longest  time.Duration
}

// CheckBaseURL reports the error in an endpoint. Because requests hold the key,
// unencrypted HTTP is allowed only for this machine and private networks.
func CheckBaseURL(text string) error {
	_, err := parseBaseURL(text)
	return err
}

func parseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf(`%q is not an endpoint; write an address such as "https://api.openai.com/v1"`, text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.EscapedPath(), "%"):
		return nil, fmt.Errorf("an endpoint consists of scheme, host, port and path only; the key has its own argument")
	case u.Scheme == "https", u.Scheme == "http" && private(u.Hostname()):
	case u.Scheme == "http":
		return nil, fmt.Errorf("%q would send the key unencrypted; write https://, or the name or address of a host on a private network", text)
	default:
		return nil, fmt.Errorf("%q: the scheme must be https", text)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// private reports whether a host is this machine or on a private network,
// judging by its address or the form of its name.
func private(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate()
	}
	return proxy.PrivateName(host)
}

// matches reports whether a name matches a pattern, in which an asterisk
// matches any characters.
func matches(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == name
	}
	fits, err := regexp.MatchString("^(?s:"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+")$", name)
	return fits && err == nil
}

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
	n, err := strconv.ParseInt(units+decimals+strings.Repeat("0", 9-len(decimals)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too much money: at most %s USD", text, Dollars(most/10))
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
