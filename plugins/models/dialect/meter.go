package dialect

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// report is what one operation's responses say, and where. The paths are those
// of a scanner, for a whole response and for the events of a stream alike.
type report struct {
	// paths are those that read wants to see; read gets the values that one
	// JSON text or event has at them.
	paths []string
	read  func(m *meter, got map[string]string)
	// items are paths of values that are counted instead of joined.
	items []string
	// queries are the paths of strings whose different ones are counted.
	queries []string
	// texts are the paths of what the model writes. A path that ends in * stands
	// for all with that beginning.
	texts []string
	// closing is the data of the event that ends a stream, "" if it is no such.
	closing string
}

// meter implements Meter for all dialects.
type meter struct {
	report *report
	stream bool

	form   form
	events events
	json   scanner
	// got is the usage reported so far by the current event; head holds its first
	// bytes.
	got  map[string]string
	head []byte

	// tools are those that the request offers. items counts the values at the
	// paths of report.items in one JSON text or event, by "path value"; queries are
	// hashes of the queries so far, and called what the events said of calls.
	tools   map[Tool]int64
	items   map[string]int64
	queries map[uint64]bool
	called  ToolCalls

	// most are the greatest numbers that were reported, by their paths: a usage is
	// that of the response so far, so a smaller one after it takes nothing back.
	most  map[string]int64
	usage Usage
	// seen says that a usage was reported, stopped that the model ended its
	// answer, final that the usage is the last one, done that the stream ended as
	// it should, begun that it has more than the events before an answer.
	seen, stopped, final, done, begun bool

	// failed is the error that the provider reports, status the HTTP status that
	// it stands for.
	failed string
	status int
}

// form is how the response is written. A stream can be a plain JSON object, too,
// such as an error, or an array of what would be its events.
type form uint8

const (
	unknownForm form = iota
	objectForm
	arrayForm
	eventForm
)

func newMeter(r *report, asked *Request) *meter {
	m := &meter{report: r, stream: asked.Stream, tools: asked.Tools, got: map[string]string{}, items: map[string]int64{}, queries: map[uint64]bool{}, most: map[string]int64{}}
	wanted, cut := map[string]bool{}, map[string]bool{}
	for _, p := range failurePaths {
		wanted[p] = true
	}
	for _, p := range slices.Concat(r.paths, r.items, r.queries) {
		wanted[p] = true
	}
	for _, p := range r.queries {
		cut[p] = true
	}
	m.json = scanner{wanted: wanted, found: m.found, cut: cut, texts: r.texts}
	m.json.reset()
	m.events = events{data: m.data, done: m.event}
	return m
}

// found gets a value of the JSON text. Those of the items of an array are kept
// one after the other, with a space between.
func (m *meter) found(path, value string) {
	switch {
	case slices.Contains(m.report.queries, path):
		m.query(value)
		return
	case slices.Contains(m.report.items, path):
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
		value = before // the usages of an array of events
	}
	m.got[path] = value
}

// Bounds of what is remembered to count calls of tools.
const (
	maxKinds   = 100
	maxQueries = 10_000
)

// item counts a value. There are few different ones that matter.
func (m *meter) item(key string) {
	if _, seen := m.items[key]; seen || len(m.items) < maxKinds {
		m.items[key]++
	}
}

// query remembers a query; empty ones cost nothing.
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

// data reads data of an event.
func (m *meter) data(p []byte) {
	m.head = append(m.head, p[:min(len(p), 16-len(m.head))]...)
	_, _ = m.json.Write(p)
}

// event ends an event.
func (m *meter) event() {
	m.settle()
	m.json.reset()
	clear(m.got)
	clear(m.items)
	m.head = m.head[:0]
}

// settle believes what the JSON text says that was read, if it is whole.
func (m *meter) settle() {
	if m.report.closing != "" && string(m.head) == m.report.closing {
		m.final, m.done = true, true
	}
	if !m.json.whole() {
		return
	}
	for path := range m.got {
		if n := tokens(m.got[path]); n >= 0 {
			// The usage within a message or a response is that of the events around it.
			path = strings.TrimPrefix(strings.TrimPrefix(path, "message."), "response.")
			m.most[path] = max(m.most[path], n)
		}
	}
	m.failure()
	kind := m.got["type"]
	m.begun = m.begun || kind != "" && !slices.Contains([]string{"message_start", "ping", "response.created", "response.in_progress", "response.queued"}, kind)
	m.report.read(m, m.got)
}

// now is the meter as it would be if the response ended here, perhaps without
// the blank line after its last event.
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
	return end.usage, end.seen && (end.final || end.form == objectForm && end.json.whole())
}

// Done implements Meter.
func (m *meter) Done() bool {
	end := m.now()
	switch end.form {
	case objectForm:
		return end.json.whole()
	case arrayForm:
		return end.done && end.json.whole()
	}
	return end.done
}

// Failed implements Meter.
func (m *meter) Failed() string { return m.now().failed }

// Progress implements Meter.
func (m *meter) Progress() Progress {
	end := m.now()
	p := Progress{Text: end.json.written, Reported: end.seen, Status: end.status}
	switch end.form {
	case objectForm:
		p.Begun = end.json.whole() || end.json.state == broken
	default:
		p.Begun = p.Text > 0 || end.begun || end.stopped || end.final || end.done || end.failed != ""
	}
	return p
}

// firstOf is the first value that there is.
func firstOf(got map[string]string, paths ...string) string {
	for _, p := range paths {
		if got[p] != "" {
			return got[p]
		}
	}
	return ""
}

// mostTokens is more than any response has, so that sums do not overflow.
const mostTokens = 1e15

// tokens is a number of tokens, -1 if the text is none. A number with a fraction
// rounds up, one below zero counts as zero.
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

// counts is the sum of the greatest numbers at these paths.
func (m *meter) counts(paths ...string) (sum int64) {
	for _, p := range paths {
		sum += m.most[p]
	}
	return sum
}
