package gateway

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// Model is one model block of a pipeline.
type Model struct {
	// Name is the block's label, Provider the name of a dialect.
	Name     string
	Provider string
	// BaseURL is the endpoint; the dialect's own if it is empty. Its path
	// replaces that of the dialect's. See CheckBaseURL.
	BaseURL string
	// Models are the patterns ("gpt-5*") of the models that may be asked for.
	// An asterisk stands for any characters.
	Models []string
	// Grants are the provider-side abilities that may be used.
	Grants dialect.Grants
	// Prices are those of the pipeline, by pattern; they go before the table's.
	// Of several that match, the longest pattern counts.
	Prices map[string]Price
	// Budget bounds each attempt.
	Budget Limits
	Retry  Retry
}

// Limits are the budget of an attempt or of a run; a zero field is no limit.
type Limits struct {
	Cost     Dollars
	Tokens   int64
	Requests int64
	// PerMinute and Concurrent bound the rate: more are refused with the time
	// after which the client may retry, and nothing of the budget is lost.
	// PerMinute holds for any sixty seconds.
	PerMinute  int
	Concurrent int
	// ToolCalls is how many calls of the provider's own tools are reserved for a
	// request that sets no limit of them itself.
	ToolCalls int64
}

// Retry is what the gateway itself repeats, before the first byte of a response
// has reached the client. The zero value passes every failure through.
type Retry struct {
	// Attempts is how often a request is sent at most, Longest the longest wait
	// between two; a provider that asks for more is not waited for. 0 is a
	// minute.
	Attempts int
	Longest  time.Duration
}

// CheckBaseURL says what is wrong with an endpoint. Unencrypted HTTP is for this
// machine and private networks only, since the request holds the key.
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

// private says whether a host is this machine or on a private network, by its
// address or the form of its name.
func private(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate()
	}
	return proxy.PrivateName(host)
}

// matches says whether a name matches a pattern, in which an asterisk stands
// for any characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == name
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(name, part)
		if !ok {
			return false
		}
		name = rest
	}
	return true
}
