package dialect

import (
	"hash/fnv"
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
	// got is what the event that is being read said so far, head its first bytes.
	got  map[string]string
	head []byte

	// tools are those that the request offers. items counts the values at the
	// paths of report.items in one JSON text or event, by "path value"; queries are
	// hashes of the queries so far, and called what the events said of calls.
	tools   map[Tool]int64
	items   map[string]int64
	queries map[uint64]bool
	called  ToolCalls

	usage Usage
	// seen says that a usage was reported, stopped that the model ended its
	// answer, final that the usage is the last one, done that the stream ended as
	// it should.
	seen, stopped, final, done bool

	failed string
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
	m := &meter{report: r, stream: asked.Stream, tools: asked.Tools, got: map[string]string{}, items: map[string]int64{}, queries: map[uint64]bool{}}
	wanted := map[string]bool{"error": true, "error.message": true, "error.type": true, "error.code": true, "error.status": true}
	cut := map[string]bool{}
	for _, p := range slices.Concat(r.paths, r.items, r.queries) {
		wanted[p] = true
	}
	for _, p := range r.queries {
		cut[p] = true
	}
	m.json = scanner{wanted: wanted, found: m.found, cut: cut}
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
	if before := m.got[path]; before != "" && strings.Contains(path, "[]") {
		if len(before) > maxToken {
			return
		}
		value = before + " " + value
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
	if text := m.got["error.message"]; text != "" {
		m.failed = text
	} else if text := firstOf(m.got, "error", "error.type", "error.code", "error.status"); text != "" {
		m.failed = text
	}
	m.report.read(m, m.got)
}

// now is the meter as it would be if the response ended here, perhaps without
// the blank line after its last event.
func (m *meter) now() *meter {
	end := *m
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

// firstOf is the first value that there is.
func firstOf(got map[string]string, paths ...string) string {
	for _, p := range paths {
		if got[p] != "" {
			return got[p]
		}
	}
	return ""
}

// count is a number of tokens; ok is false if there is none. A number with a
// fraction rounds up.
func count(got map[string]string, path string) (n int64, ok bool) {
	text, ok := got[path]
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return max(n, 0), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f > 1e15 {
		return 0, false
	}
	n = int64(f)
	if float64(n) < f {
		n++
	}
	return n, true
}

// counts is the sum of these numbers.
func counts(got map[string]string, paths ...string) (sum int64) {
	for _, p := range paths {
		n, _ := count(got, p)
		sum += n
	}
	return sum
}

// chatReport is that of chat completions, completions and embeddings. Some
// servers send the usage so far with every event, so the last one of a stream is
// that which comes with or after the end of the answer.
var chatReport = &report{
	closing: "[DONE]",
	paths: []string{
		"usage.prompt_tokens", "usage.completion_tokens", "usage.total_tokens", "usage.prompt_tokens_details.cached_tokens",
		"usage.prompt_tokens_details.cache_write_tokens", "usage.prompt_tokens_details.audio_tokens", "usage.prompt_cache_hit_tokens", "usage.completion_tokens_details.reasoning_tokens",
		"choices.[].finish_reason", "usage.server_tool_use.web_search_requests", "usage.num_search_queries",
	},
	read: func(m *meter, got map[string]string) {
		input, ok := count(got, "usage.prompt_tokens")
		m.stopped = m.stopped || got["choices.[].finish_reason"] != ""
		if !ok {
			return
		}
		m.seen, m.final = true, m.final || m.stopped
		output := counts(got, "usage.completion_tokens")
		m.usage = Usage{
			Input: input, Output: max(output, counts(got, "usage.total_tokens")-input),
			CacheRead:  min(input, max(counts(got, "usage.prompt_tokens_details.cached_tokens"), counts(got, "usage.prompt_cache_hit_tokens"))),
			CacheWrite: counts(got, "usage.prompt_tokens_details.cache_write_tokens"),
			Audio:      counts(got, "usage.prompt_tokens_details.audio_tokens"),
			Reasoning:  counts(got, "usage.completion_tokens_details.reasoning_tokens"),
			ToolCalls:  ToolCalls{WebSearch: m.searches(max(counts(got, "usage.server_tool_use.web_search_requests"), counts(got, "usage.num_search_queries")))},
		}
	},
}

// searches are how often a chat searched: what OpenRouter and Perplexity report;
// what others charge for, which is what the request offers.
func (m *meter) searches(reported int64) int64 { return max(reported, m.tools[WebSearchTool]) }

// responsesReport is that of responses.
var responsesReport = &report{
	paths: []string{
		"type", "message", "code", "response.error.message", "response.incomplete_details.reason",
		"usage.input_tokens", "usage.output_tokens", "usage.input_tokens_details.cached_tokens", "usage.input_tokens_details.cache_write_tokens", "usage.output_tokens_details.reasoning_tokens",
		"response.usage.input_tokens", "response.usage.output_tokens", "response.usage.input_tokens_details.cached_tokens",
		"response.usage.input_tokens_details.cache_write_tokens", "response.usage.output_tokens_details.reasoning_tokens",
		"item.type", "item.action.type", "tool_usage.web_search.num_requests", "response.tool_usage.web_search.num_requests",
	},
	items: []string{"output.[].type", "output.[].action.type", "response.output.[].type", "response.output.[].action.type"},
	read: func(m *meter, got map[string]string) {
		at := "usage."
		switch kind := got["type"]; kind {
		case "response.completed", "response.incomplete", "response.failed":
			m.final, m.done, at = true, true, "response.usage."
			if text := got["response.error.message"]; text != "" {
				m.failed = text
			}
		case "response.output_item.done":
			m.called = m.called.Plus(m.itemsOf(map[string]int64{got["item.type"]: 1}, map[string]int64{got["item.action.type"]: 1}))
			return
		case "error":
			m.failed = firstOf(got, "error.message", "message", "code", "type")
			return
		default:
			if m.form == eventForm {
				return
			}
		}
		input, ok := count(got, at+"input_tokens")
		if !ok {
			return
		}
		m.seen = true
		m.usage = Usage{
			Input: input, Output: counts(got, at+"output_tokens"),
			CacheRead:  min(input, counts(got, at+"input_tokens_details.cached_tokens")),
			CacheWrite: counts(got, at+"input_tokens_details.cache_write_tokens"),
			Reasoning:  counts(got, at+"output_tokens_details.reasoning_tokens"),
			ToolCalls:  m.called.most(m.output(strings.TrimSuffix(at, "usage."))).most(ToolCalls{WebSearch: counts(got, strings.TrimSuffix(at, "usage.")+"tool_usage.web_search.num_requests")}),
		}
	},
}

// output are the calls of tools in the output of a response; at is where that is.
func (m *meter) output(at string) ToolCalls {
	kinds, actions := map[string]int64{}, map[string]int64{}
	for key, n := range m.items {
		if kind, ok := strings.CutPrefix(key, at+"output.[].type "); ok {
			kinds[kind] = n
		} else if action, ok := strings.CutPrefix(key, at+"output.[].action.type "); ok {
			actions[action] = n
		}
	}
	return m.itemsOf(kinds, actions)
}

// itemsOf are the calls of tools by the types of items and of their actions.
// Opening a page and looking into it are no searches, says the documentation. A
// shell is the provider's if the request offers one.
func (m *meter) itemsOf(kinds, actions map[string]int64) ToolCalls {
	c := ToolCalls{
		WebSearch:  max(0, kinds["web_search_call"]-actions["open_page"]-actions["find_in_page"]),
		FileSearch: kinds["file_search_call"], Code: kinds["code_interpreter_call"], Image: kinds["image_generation_call"],
	}
	if _, offered := m.tools[CodeTool]; offered {
		c.Code += kinds["shell_call"] + kinds["program"]
	}
	return c
}

// Usage implements Dialect.
func (*openAI) Usage(r *Request) Meter {
	if r.Operation == Responses || r.Operation == Compact {
		return newMeter(responsesReport, r)
	}
	return newMeter(chatReport, r)
}

// messagesReport is that of messages. A stream reports the input at its
// beginning and the output near its end, where it may correct the input.
var messagesReport = &report{
	paths: append(append([]string{"type", "delta.stop_reason", "content_block.type"}, anthropicUsage("usage.")...), anthropicUsage("message.usage.")...),
	items: []string{"content.[].type"},
	read: func(m *meter, got map[string]string) {
		at := "usage."
		switch got["type"] {
		case "content_block_start":
			m.called = m.called.Plus(resultsOf(map[string]int64{got["content_block.type"]: 1}))
			return
		case "message_start":
			at = "message.usage."
		case "message_stop":
			m.done = true
			return
		case "message_delta", "message":
			if got["usage.output_tokens"] != "" {
				m.seen, m.final = true, true
			}
		default:
			if m.form == eventForm {
				return
			}
		}
		u := &m.usage
		plain := u.Input - u.CacheRead - u.CacheWrite
		set := func(to *int64, name string) {
			if n, ok := count(got, at+name); ok {
				*to = n
			}
		}
		set(&plain, "input_tokens")
		set(&u.CacheRead, "cache_read_input_tokens")
		set(&u.CacheWrite, "cache_creation_input_tokens")
		set(&u.CacheWriteHour, "cache_creation.ephemeral_1h_input_tokens")
		set(&u.Output, "output_tokens")
		set(&u.Reasoning, "output_tokens_details.thinking_tokens")
		u.Input = plain + u.CacheRead + u.CacheWrite
		kinds := map[string]int64{}
		for key, n := range m.items {
			kinds[strings.TrimPrefix(key, "content.[].type ")] = n
		}
		calls := m.called.Plus(resultsOf(kinds))
		u.ToolCalls.Code = calls.Code
		set(&calls.WebSearch, "server_tool_use.web_search_requests")
		set(&calls.WebFetch, "server_tool_use.web_fetch_requests")
		u.ToolCalls = u.ToolCalls.most(calls)
	},
}

// resultsOf are the calls of tools by the types of the blocks with their
// results. Of searches and fetches the usage tells, too, without those that
// failed.
func resultsOf(kinds map[string]int64) ToolCalls {
	return ToolCalls{
		WebSearch: kinds["web_search_tool_result"], WebFetch: kinds["web_fetch_tool_result"],
		Code: kinds["code_execution_tool_result"] + kinds["bash_code_execution_tool_result"] + kinds["text_editor_code_execution_tool_result"],
	}
}

func anthropicUsage(at string) []string {
	var paths []string
	for _, name := range []string{
		"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
		"cache_creation.ephemeral_1h_input_tokens", "output_tokens_details.thinking_tokens",
		"server_tool_use.web_search_requests", "server_tool_use.web_fetch_requests",
	} {
		paths = append(paths, at+name)
	}
	return paths
}

// Usage implements Dialect.
func (*anthropic) Usage(r *Request) Meter { return newMeter(messagesReport, r) }

// generateReport is that of Gemini. Each event of a stream has the usage so far;
// the last one says why the model stopped.
var generateReport = &report{
	paths: []string{
		"usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount", "usageMetadata.thoughtsTokenCount", "usageMetadata.totalTokenCount",
		"usageMetadata.toolUsePromptTokenCount", "usageMetadata.cachedContentTokenCount", "candidates.[].finishReason", "promptFeedback.blockReason",
		"usageMetadata.promptTokensDetails.[].modality", "usageMetadata.promptTokensDetails.[].tokenCount",
	},
	items:   []string{"candidates.[].groundingMetadata.groundingChunks.[].web.uri", "candidates.[].groundingMetadata.groundingChunks.[].maps.uri"},
	queries: []string{"candidates.[].groundingMetadata.webSearchQueries.[]", "candidates.[].groundingMetadata.imageSearchQueries.[]"},
	read: func(m *meter, got map[string]string) {
		m.called = m.called.most(m.grounded())
		if firstOf(got, "candidates.[].finishReason", "promptFeedback.blockReason") != "" {
			m.final, m.done = true, true
		}
		if _, ok := count(got, "usageMetadata.promptTokenCount"); !ok {
			return
		}
		m.seen = true
		input := counts(got, "usageMetadata.promptTokenCount", "usageMetadata.toolUsePromptTokenCount")
		output := counts(got, "usageMetadata.candidatesTokenCount", "usageMetadata.thoughtsTokenCount")
		m.usage = Usage{
			Input: input, Output: max(output, counts(got, "usageMetadata.totalTokenCount")-input),
			CacheRead: min(input, counts(got, "usageMetadata.cachedContentTokenCount")),
			Audio:     min(input, sound(got["usageMetadata.promptTokensDetails.[].modality"], got["usageMetadata.promptTokensDetails.[].tokenCount"])),
			Reasoning: counts(got, "usageMetadata.thoughtsTokenCount"),
			ToolCalls: m.called,
		}
	},
}

// grounded are the searches that an answer is based on: the different queries
// that are not empty, which are what is charged. An answer with places is one
// request of maps.
func (m *meter) grounded() ToolCalls {
	c := ToolCalls{WebSearch: int64(len(m.queries))}
	for key := range m.items {
		if strings.Contains(key, ".maps.uri ") {
			c.Maps = 1
		} else {
			c.WebSearch = max(c.WebSearch, 1)
		}
	}
	return c
}

// sound is how many of these tokens are sound: the counts of each kind. Where it
// is not clear which count is whose, all are.
func sound(kinds, tokens string) (sum int64) {
	if !strings.Contains(kinds, "AUDIO") {
		return 0
	}
	each := strings.Fields(tokens)
	names := strings.Fields(kinds)
	for i, count := range each {
		n, err := strconv.ParseInt(count, 10, 64)
		if err == nil && (len(each) != len(names) || names[i] == "AUDIO") {
			sum += max(n, 0)
		}
	}
	return sum
}

// Usage implements Dialect.
func (*gemini) Usage(r *Request) Meter { return newMeter(generateReport, r) }
