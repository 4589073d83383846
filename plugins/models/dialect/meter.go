package dialect

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// report describes where the responses of an operation report their usage. Its
// paths are those of a scanner. They hold for a whole response and for the
// events of a stream.
type report struct {
	// Reader is the name of one of readers. Paths are the paths that it needs, At the
	// prefixes of those of a usage, which are in Usage.
	Reader string   `json:"reader"`
	Paths  []string `json:"paths"`
	At     []string `json:"at"`
	Usage  []string `json:"usage"`
	// Items are paths whose values are counted instead of joined.
	Items []string `json:"items"`
	// Queries are paths of strings of which the distinct ones are counted.
	Queries []string `json:"queries"`
	// Texts are the paths of the model's output. A trailing * matches any
	// suffix.
	Texts []string `json:"texts"`
	// Closing is the data of the event that ends a stream, or "" if there is no
	// such event.
	Closing string `json:"closing"`
}

// usage returns the paths of the members of a usage.
func (r *report) usage() (paths []string) {
	for _, at := range r.At {
		for _, name := range r.Usage {
			paths = append(paths, at+name)
		}
	}
	return paths
}

// meter implements Meter for all dialects.
type meter struct {
	report *report
	stream bool

	form   form
	events events
	json   scanner
	// got holds the values that the current JSON text or event has reported so
	// far, by path. head holds the first bytes of the event's data.
	got  map[string]string
	head []byte

	// tools are the tools that the request offers. items counts the values at
	// the paths of report.items in one JSON text or event, by "path value".
	// queries are hashes of the queries so far. called sums the calls that the
	// events reported.
	tools   map[Tool]int64
	items   map[string]int64
	queries map[uint64]bool
	called  ToolCalls

	// most holds the greatest number reported at each path. Each report covers
	// the whole response so far, so a smaller number later takes nothing back.
	most  map[string]int64
	usage Usage
	// model and tier are the last reported ones.
	model, tier string
	// phase is how far the response is. reported means that a usage was reported, and
	// final that it is the last one.
	phase           phase
	reported, final bool

	// failed is the error that the provider reports, status the corresponding
	// HTTP status.
	failed string
	status int
}

// form is the encoding of the response. A stream may also be a plain JSON
// object, such as an error, or an array of its events.
type form uint8

const (
	unknownForm form = iota
	objectForm
	arrayForm
	eventForm
)

// phase is how far a response is.
type phase uint8

const (
	announced phase = iota // nothing has arrived but the events before an answer
	begun
	stopped // the model ended its answer
	over    // the stream ended as it should
)

// reach notes that the response is at a phase.
func (m *meter) reach(p phase) { m.phase = max(m.phase, p) }

func newMeter(r *report, asked *Request) *meter {
	m := &meter{report: r, stream: asked.Stream, tools: asked.Tools, got: map[string]string{}, items: map[string]int64{}, queries: map[uint64]bool{}, most: map[string]int64{}}
	wanted := lists.Set(slices.Concat(failurePaths, modelPaths, tierPaths, r.Paths, r.usage(), r.Items, r.Queries))
	m.json = scanner{wanted: wanted, found: m.found, cut: lists.Set(r.Queries), texts: r.Texts}
	m.json.reset()
	m.events = events{data: m.data, done: m.event}
	return m
}

// found receives a value of the JSON text. Values of the items of an array are
// joined by spaces.
func (m *meter) found(path, value string) {
	switch {
	case slices.Contains(m.report.Queries, path):
		m.query(value)
		return
	case slices.Contains(m.report.Items, path):
		m.item(path + " " + value)
		return
	}
	switch before := m.got[path]; {
	case before == "":
	case strings.Contains(path, "[]"):
		if len(before) > maxToken {
			return
		}
		value = before + " " + value
	case tokens(before) > tokens(value):
		value = before // an array of events has several usages
	}
	m.got[path] = value
}

// Bounds of the memory used to count calls of tools.
const (
	maxKinds   = 100
	maxQueries = 10_000
)

// item counts a value. Only a few distinct ones matter.
func (m *meter) item(key string) {
	if _, seen := m.items[key]; seen || len(m.items) < maxKinds {
		m.items[key]++
	}
}

// query remembers a query. Empty queries are free.
func (m *meter) query(text string) {
	if text != "" && len(m.queries) < maxQueries {
		h := fnv.New64a()
		_, _ = h.Write([]byte(text))
		m.queries[h.Sum64()] = true
	}
}

// Write implements io.Writer.
func (m *meter) Write(p []byte) (int, error) {
	n := len(p)
	for m.form == unknownForm && len(p) > 0 {
		switch c := p[0]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			p = p[1:]
		case !m.stream || c == '{':
			m.form = objectForm
		case c == '[':
			m.form = arrayForm
		default:
			m.form = eventForm
		}
	}
	if m.form == eventForm {
		_, _ = m.events.Write(p)
		return n, nil
	}
	_, _ = m.json.Write(p)
	return n, nil
}

// data reads a piece of the data of an event.
func (m *meter) data(p []byte) {
	m.head = append(m.head, p[:min(len(p), 16-len(m.head))]...)
	_, _ = m.json.Write(p)
}

// event handles the end of an event.
func (m *meter) event() {
	m.settle()
	m.json.reset()
	clear(m.got)
	clear(m.items)
	m.head = m.head[:0]
}

// settle applies the JSON text that was read if it is complete.
func (m *meter) settle() {
	if m.report.Closing != "" && string(m.head) == m.report.Closing {
		m.final = true
		m.reach(over)
	}
	if !m.json.whole() {
		return
	}
	for path := range m.got {
		if n := tokens(m.got[path]); n >= 0 {
			// The usage within a message or a response has the meaning of the usage of its
			// event. Groq, and Moonshot in a stream, report it elsewhere.
			for _, place := range []string{"message.", "response.", "x_groq.", "choices.[]."} {
				path = strings.TrimPrefix(path, place)
			}
			m.most[path] = max(m.most[path], n)
		}
	}
	m.model, m.tier = cmp.Or(firstOf(m.got, modelPaths...), m.model), cmp.Or(firstOf(m.got, tierPaths...), m.tier)
	m.failure()
	kind := m.got["type"]
	if kind != "" && !slices.Contains([]string{"message_start", "ping", "response.created", "response.in_progress", "response.queued"}, kind) {
		m.reach(begun)
	}
	readers[m.report.Reader](m, m.got)
}

// now returns the meter as if the response ended here, perhaps without the
// blank line after its last event.
func (m *meter) now() *meter {
	end := *m
	if end.json.whole() {
		end.most = maps.Clone(m.most)
	}
	end.settle()
	return &end
}

// Usage implements Meter.
func (m *meter) Usage() (Usage, bool) {
	end := m.now()
	if !slices.Contains(ordinaryTiers, end.tier) {
		end.usage.Tier = end.tier
	}
	return end.usage, end.reported && (end.final || end.form == objectForm && end.json.whole())
}

// Done implements Meter.
func (m *meter) Done() bool {
	end := m.now()
	whole := end.form == eventForm || end.json.whole()
	return whole && (end.form == objectForm || end.phase == over)
}

// Failed implements Meter.
func (m *meter) Failed() string { return m.now().failed }

// Progress implements Meter.
func (m *meter) Progress() Progress {
	end := m.now()
	p := Progress{Text: end.json.written, Reported: end.reported, Model: end.model, Status: end.status, Malformed: end.form != eventForm && end.json.state == broken}
	if end.form == objectForm {
		p.Begun = end.json.whole() || p.Malformed
	} else {
		p.Begun = p.Text > 0 || end.phase > announced || end.final || end.failed != ""
	}
	return p
}

// The paths at which responses name their model and their service tier, and the
// tiers at ordinary prices.
var (
	modelPaths    = []string{"model", "response.model", "message.model", "modelVersion"}
	tierPaths     = []string{"service_tier", "response.service_tier", "usage.service_tier", "message.usage.service_tier", "usageMetadata.serviceTier"}
	ordinaryTiers = []string{"", "auto", "default", "standard", "on_demand"}
)

// firstOf returns the first value that is not empty.
func firstOf(got map[string]string, paths ...string) string {
	for _, p := range paths {
		if got[p] != "" {
			return got[p]
		}
	}
	return ""
}

// mostTokens is more than any response has. It keeps sums from overflowing.
const mostTokens = 1e15

// tokens parses a number of tokens. It returns -1 if the text is not a number.
// Fractions are rounded up; a negative integer counts as zero.
func tokens(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return min(max(n, 0), mostTokens)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f > mostTokens {
		return -1
	}
	return int64(math.Ceil(f))
}

// counts returns the sum of the greatest numbers at these paths.
func (m *meter) counts(paths ...string) int64 {
	return lists.Sum(paths, func(p string) int64 { return m.most[p] })
}

// failurePaths are the paths at which providers and compatible servers report
// an error within a response.
var failurePaths = []string{
	"error", "error.message", "error.type", "error.code", "error.status",
	"response.error.message", "response.error.code", "choices.[].error.message", "choices.[].error.code", "choices.[].finish_reason",
	"object", "type", "status", "message", "code",
}

// failure extracts the error that a JSON text or event reports.
func (m *meter) failure() {
	got := m.got
	text := ""
	switch kind := got["type"]; {
	case got["error"] != "" && got["error"] != "false":
		text = got["error"]
	case firstOf(got, "error.message", "error.type", "error.code", "error.status") != "":
		text = firstOf(got, "error.message", "error.type", "error.code", "error.status")
	case string(m.events.name) == "error", kind == "error", got["object"] == "error", kind == "response.failed",
		got["object"] == "response" && got["status"] == "failed":
		text = firstOf(got, "response.error.message", "message", "response.error.code", "code", "type", "object")
		text = cmp.Or(text, "the provider reports an error without a word")
	case firstOf(got, "choices.[].error.message", "choices.[].error.code") != "":
		text = firstOf(got, "choices.[].error.message", "choices.[].error.code")
	case slices.Contains(strings.Fields(got["choices.[].finish_reason"]), "error"):
		text = "the model stopped with finish_reason error"
	default:
		return
	}
	m.failed = text
	m.status = statusOf(got)
}

// mistakes are substrings of the names of client errors. A retry does not help
// against them.
var mistakes = []string{
	"invalid", "badrequest", "bad_request", "not_found", "notfound", "permission", "authentication", "unauthorized", "too_large", "context_length",
	"billing", "content_policy", "content_filter", "unprocessable", "failed_precondition",
}

// statusOf returns the HTTP status that corresponds to an error within a
// response. An error that is not known to be the client's mistake is the
// provider's.
func statusOf(got map[string]string) int {
	var names []string
	for _, p := range []string{"error.code", "choices.[].error.code", "response.error.code", "code", "error.type", "error.status", "type"} {
		if n, err := strconv.Atoi(got[p]); err == nil && n >= 400 && n < 600 {
			return n
		}
		names = append(names, strings.ToLower(got[p]))
	}
	all := strings.Join(names, " ")
	named := func(part string) bool { return strings.Contains(all, part) }
	switch {
	case slices.ContainsFunc([]string{"rate_limit", "too_many", "resource_exhausted", "quota"}, named):
		return http.StatusTooManyRequests
	case slices.ContainsFunc(mistakes, named):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}
