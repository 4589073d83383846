package dialect

import (
	"slices"
	"strconv"
	"strings"
)

// readers read the usage at the paths of a report from one JSON text or event, by the name of the
// report.
var readers = map[string]func(m *meter, got map[string]string){
	"chat": readChat, "responses": readResponses, "messages": readMessages, "generate": readGenerate,
}

// readChat reads chat completions, completions and embeddings. Some servers
// send the usage so far with every event. The final usage of a stream comes
// with or after the end of the answer.
func readChat(m *meter, got map[string]string) {
	if got["choices.[].finish_reason"] != "" {
		m.reach(stopped)
	}
	if firstOf(got, "usage.prompt_tokens", "x_groq.usage.prompt_tokens", "choices.[].usage.prompt_tokens") == "" {
		return
	}
	m.reported, m.final = true, m.final || m.phase >= stopped
	input, output := m.counts("usage.prompt_tokens"), m.counts("usage.completion_tokens")
	m.usage = Usage{
		Input: input, Output: max(output, m.counts("usage.total_tokens")-input),
		CacheRead:  min(input, max(m.counts("usage.prompt_tokens_details.cached_tokens"), m.counts("usage.prompt_cache_hit_tokens"), m.counts("usage.cached_tokens"))),
		CacheWrite: m.counts("usage.prompt_tokens_details.cache_write_tokens"),
		Audio:      m.counts("usage.prompt_tokens_details.audio_tokens"),
		Reasoning:  m.counts("usage.completion_tokens_details.reasoning_tokens"),
		ToolCalls:  ToolCalls{WebSearch: m.searches(max(m.counts("usage.server_tool_use.web_search_requests"), m.counts("usage.num_search_queries")))},
	}
}

// searches returns the number of searches of a chat. OpenRouter and Perplexity
// report it. Others charge for the searches that the request offers.
func (m *meter) searches(reported int64) int64 { return max(reported, m.tools[WebSearchTool]) }

// readResponses reads responses.
func readResponses(m *meter, got map[string]string) {
	at := ""
	switch kind := got["type"]; kind {
	case "response.completed", "response.incomplete", "response.failed":
		m.final, at = true, "response."
		m.reach(over)
	case "response.output_item.done":
		m.called = m.called.Plus(m.itemsOf(map[string]int64{got["item.type"]: 1}, map[string]int64{got["item.action.type"]: 1}))
		return
	default:
		if m.form == eventForm {
			return
		}
	}
	if got[at+"usage.input_tokens"] == "" {
		return
	}
	m.reported = true
	input := m.counts("usage.input_tokens")
	m.usage = Usage{
		Input: input, Output: m.counts("usage.output_tokens"),
		CacheRead:  min(input, m.counts("usage.input_tokens_details.cached_tokens")),
		CacheWrite: m.counts("usage.input_tokens_details.cache_write_tokens"),
		Reasoning:  m.counts("usage.output_tokens_details.reasoning_tokens"),
		ToolCalls:  m.called.most(m.output(at)).most(ToolCalls{WebSearch: m.counts("tool_usage.web_search.num_requests")}).most(m.usage.ToolCalls),
	}
}

// output counts the calls of tools in the output of a response. The prefix at
// locates the output.
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

// itemsOf counts the calls of tools from the types of items and their actions.
// According to the documentation, opening a page and searching within it are
// not web searches. A shell is the provider's if the request offers one.
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

// readMessages reads messages. A stream reports the input at its beginning. It
// reports the output near its end, where it may correct the input.
func readMessages(m *meter, got map[string]string) {
	switch got["type"] {
	case "content_block_start":
		m.called = m.called.Plus(resultsOf(map[string]int64{got["content_block.type"]: 1}))
		return
	case "message_start":
		m.reported = m.reported || got["message.usage.input_tokens"] != ""
	case "message_stop":
		m.reach(over)
		return
	case "message_delta", "message":
		if got["usage.output_tokens"] != "" {
			m.reported, m.final = true, true
		}
	default:
		if m.form == eventForm {
			return
		}
	}
	u := &m.usage
	u.CacheRead, u.CacheWrite = m.counts("usage.cache_read_input_tokens"), m.counts("usage.cache_creation_input_tokens")
	u.CacheWriteHour = m.counts("usage.cache_creation.ephemeral_1h_input_tokens")
	u.Input = m.counts("usage.input_tokens") + u.CacheRead + u.CacheWrite
	u.Output, u.Reasoning = m.counts("usage.output_tokens"), m.counts("usage.output_tokens_details.thinking_tokens")
	kinds := map[string]int64{}
	for key, n := range m.items {
		kinds[strings.TrimPrefix(key, "content.[].type ")] = n
	}
	calls := m.called.Plus(resultsOf(kinds))
	for _, told := range []struct {
		to   *int64
		name string
	}{{&calls.WebSearch, "usage.server_tool_use.web_search_requests"}, {&calls.WebFetch, "usage.server_tool_use.web_fetch_requests"}} {
		if n, ok := m.most[told.name]; ok {
			*told.to = n
		}
	}
	u.ToolCalls = u.ToolCalls.most(calls)
}

// resultsOf counts the calls of tools from the types of their result blocks.
// The usage also counts searches and fetches, without the failed ones.
func resultsOf(kinds map[string]int64) ToolCalls {
	return ToolCalls{
		WebSearch: kinds["web_search_tool_result"], WebFetch: kinds["web_fetch_tool_result"],
		Code: kinds["code_execution_tool_result"] + kinds["bash_code_execution_tool_result"] + kinds["text_editor_code_execution_tool_result"],
	}
}

// readGenerate reads Gemini. Each event of a stream has the usage so far. The
// last event states why the model stopped.
func readGenerate(m *meter, got map[string]string) {
	m.called = m.called.most(m.grounded())
	if firstOf(got, "candidates.[].finishReason", "promptFeedback.blockReason") != "" {
		m.final = true
		m.reach(over)
	}
	if got["usageMetadata.promptTokenCount"] == "" {
		return
	}
	m.reported = true
	input := m.counts("usageMetadata.promptTokenCount", "usageMetadata.toolUsePromptTokenCount")
	output := m.counts("usageMetadata.candidatesTokenCount", "usageMetadata.thoughtsTokenCount")
	m.usage = Usage{
		Input: input, Output: max(output, m.counts("usageMetadata.totalTokenCount")-input),
		CacheRead: min(input, m.counts("usageMetadata.cachedContentTokenCount")),
		Audio:     max(m.usage.Audio, min(input, sound(got["usageMetadata.promptTokensDetails.[].modality"], got["usageMetadata.promptTokensDetails.[].tokenCount"]))),
		Reasoning: m.counts("usageMetadata.thoughtsTokenCount"),
		ToolCalls: m.called,
	}
}

// grounded counts the searches behind an answer. Each distinct query that is
// not empty is charged. An answer with places is one maps request.
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

// sound returns the number of audio tokens from parallel lists of modalities
// and counts. If the lists do not match, all tokens count as audio.
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

// Tool is a tool that a provider runs itself and may charge for per call.
type Tool string

// The tools whose calls are counted. Other tools, such as remote MCP servers,
// are charged only by their tokens.
const (
	WebSearchTool  Tool = "web_search"
	MapsTool       Tool = "google_maps"
	WebFetchTool   Tool = "web_fetch"
	FileSearchTool Tool = "file_search"
	CodeTool       Tool = "code_interpreter"
	ImageTool      Tool = "image_generation"
)

// tools are all tools, in the order of the documentation and of the fields of ToolCalls.
var tools = []Tool{WebSearchTool, MapsTool, WebFetchTool, FileSearchTool, CodeTool, ImageTool}

// Tools returns all tools, in the order of the documentation.
func Tools() []Tool { return slices.Clone(tools) }

// ToolCalls counts the provider's tool calls that a response reports.
type ToolCalls struct {
	WebSearch  int64 `json:"web_search,omitempty"`
	Maps       int64 `json:"google_maps,omitempty"`
	WebFetch   int64 `json:"web_fetch,omitempty"`
	FileSearch int64 `json:"file_search,omitempty"`
	Code       int64 `json:"code_interpreter,omitempty"`
	Image      int64 `json:"image_generation,omitempty"`
}

// at returns the counter of a tool.
func (c *ToolCalls) at(t Tool) *int64 {
	return [...]*int64{&c.WebSearch, &c.Maps, &c.WebFetch, &c.FileSearch, &c.Code, &c.Image}[slices.Index(tools, t)]
}

// Of returns the number of calls of a tool.
func (c ToolCalls) Of(t Tool) int64 { return *c.at(t) }

// Plus returns the sum of both.
func (c ToolCalls) Plus(o ToolCalls) ToolCalls {
	for _, t := range tools {
		*c.at(t) += o.Of(t)
	}
	return c
}

// most returns the greater number for each tool.
func (c ToolCalls) most(o ToolCalls) ToolCalls {
	for _, t := range tools {
		*c.at(t) = max(c.Of(t), o.Of(t))
	}
	return c
}

// offers is a value that needs an ability and lets the provider call one of its
// tools. The member named limit, if any, limits the calls.
func offers(a Ability, t Tool, limit string) shape {
	return shapeFunc(func(c *check, i int) *Refusal {
		if c.asksNothing(i) {
			return nil
		}
		if r := needs(a).check(c, i); r != nil {
			return r
		}
		most, err := c.limit(i, limit)
		if err != nil {
			return c.bad(err.Error())
		}
		c.offer(t, most)
		return nil
	})
}

// offer records that the provider may call a tool, at most this many times, or
// without a limit if most is 0.
func (c *check) offer(t Tool, most int64) {
	if c.tools == nil {
		c.tools = map[Tool]int64{}
	}
	before, seen := c.tools[t]
	switch {
	case !seen:
		c.tools[t] = most
	case before == 0 || most == 0:
		c.tools[t] = 0
	default:
		c.tools[t] = before + most
	}
}
