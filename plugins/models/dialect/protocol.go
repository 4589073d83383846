package dialect

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// protocol implements Dialect. What the dialects have in common is in their tables, NAME.jsonc.
type protocol struct {
	table
	name string
	// read checks a request beyond its shape and fills in what bounds its cost.
	read func(d *protocol, in Incoming, grants Grants) (*Request, error)
}

// dialects reads the tables once.
var dialects = sync.OnceValue(func() []*protocol {
	list := []*protocol{
		{name: "openai", read: readOpenAI}, {name: "anthropic", read: readAnthropic}, {name: "gemini", read: readGemini},
	}
	readTables(list)
	return list
})

// All returns the dialects.
func All() []Dialect {
	var all []Dialect
	for _, d := range dialects() {
		all = append(all, d)
	}
	return all
}

// Named returns the dialect with that name, or nil if there is none.
func Named(name string) Dialect {
	for _, d := range dialects() {
		if d.name == name {
			return d
		}
	}
	return nil
}

// Name implements Dialect.
func (d *protocol) Name() string { return d.name }

// BaseURL implements Dialect.
func (d *protocol) BaseURL() string { return d.table.BaseURL }

// KeyPrefix implements Dialect.
func (d *protocol) KeyPrefix() string { return d.table.KeyPrefix }

// Variables implements Dialect.
func (d *protocol) Variables(endpoint, key string) map[string]string {
	list := map[string]string{}
	for name, value := range d.table.Variables {
		list[name] = strings.NewReplacer("{endpoint}", endpoint, "{key}", key).Replace(value)
	}
	return list
}

// Read implements Dialect.
func (d *protocol) Read(in Incoming, grants Grants) (*Request, error) { return d.read(d, in, grants) }

// Usage implements Dialect.
func (d *protocol) Usage(r *Request) Meter {
	return newMeter(ofOperation(d.Reports, r.Operation), r)
}

// Error implements Dialect. The clients of OpenAI and Anthropic obey X-Should-Retry, so they do
// not retry a permanent error.
func (d *protocol) Error(r Refusal) (status int, header http.Header, body []byte) {
	if status = cmp.Or(statuses[r.Reason], http.StatusBadRequest); r.Reason == OverBudget {
		status = cmp.Or(d.OverBudget, status)
	}
	header = http.Header{"Content-Type": {"application/json"}}
	retry := ""
	switch {
	case r.Reason == RateLimited && r.RetryAfter > 0:
		header.Set("Retry-After", strconv.Itoa(r.RetryAfter))
		retry = fmt.Sprintf(`,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%ds"}]`, r.RetryAfter)
	case r.Reason != RateLimited && r.Reason != Unreachable:
		header.Set("X-Should-Retry", "false")
	}
	text := strings.NewReplacer(
		"{status}", strconv.Itoa(status), "{text}", jsontoken.Quote(r.Text), "{retry}", retry,
		"{type}", jsontoken.Quote(cmp.Or(d.Errors[r.Reason], d.Errors[BadRequest])), "{code}", jsontoken.Quote(cmp.Or(d.Codes[r.Reason], string(r.Reason))),
	).Replace(d.table.Error)
	return status, header, []byte(text + "\n")
}
