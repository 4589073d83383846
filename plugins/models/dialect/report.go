package dialect

import (
	"strconv"
	"strings"
)

// chatReport covers chat completions, completions and embeddings. Some servers
// send the usage so far with every event. The final usage of a stream comes
// with or after the end of the answer.
var chatReport = &report{
	closing: "[DONE]",
	paths:   append(usagePaths(chatUsage, append([]string{""}, chatPlaces...)...), "choices.[].finish_reason"),
	texts: []string{
		"choices.[].delta.content", "choices.[].delta.reasoning_content", "choices.[].delta.reasoning", "choices.[].delta.refusal",
		"choices.[].delta.tool_calls.[].function.*", "choices.[].delta.tool_calls.[].custom.*", "choices.[].delta.function_call.*", "choices.[].text",
		"choices.[].message.content", "choices.[].message.reasoning_content", "choices.[].message.reasoning",
		"choices.[].message.tool_calls.[].function.*",
	},
	read: func(m *meter, got map[string]string) {
		m.stopped = m.stopped || got["choices.[].finish_reason"] != ""
		if firstOf(got, usagePaths([]string{"prompt_tokens"}, append([]string{""}, chatPlaces...)...)...) == "" {
			return
		}
		m.seen, m.final = true, m.final || m.stopped
		input, output := m.counts("usage.prompt_tokens"), m.counts("usage.completion_tokens")
		m.usage = Usage{
			Input: input, Output: max(output, m.counts("usage.total_tokens")-input),
			CacheRead:  min(input, max(m.counts("usage.prompt_tokens_details.cached_tokens"), m.counts("usage.prompt_cache_hit_tokens"), m.counts("usage.cached_tokens"))),
			CacheWrite: m.counts("usage.prompt_tokens_details.cache_write_tokens"),
			Audio:      m.counts("usage.prompt_tokens_details.audio_tokens"),
			Reasoning:  m.counts("usage.completion_tokens_details.reasoning_tokens"),
			ToolCalls:  ToolCalls{WebSearch: m.searches(max(m.counts("usage.server_tool_use.web_search_requests"), m.counts("usage.num_search_queries")))},
		}
	},
}

// chatUsage are the members of a chat's usage. Groq, and Moonshot in a stream,
// report them at one of chatPlaces.
var (
	chatUsage = []string{
		"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details.cached_tokens", "prompt_tokens_details.cache_write_tokens",
		"prompt_tokens_details.audio_tokens", "prompt_cache_hit_tokens", "cached_tokens", "completion_tokens_details.reasoning_tokens",
		"server_tool_use.web_search_requests", "num_search_queries",
	}
	chatPlaces = []string{"x_groq.", "choices.[]."}
)

// usagePaths returns the paths of the members of a usage at some places.
func usagePaths(names []string, places ...string) (paths []string) {
	for _, at := range places {
		for _, name := range names {
			paths = append(paths, at+"usage."+name)
		}
	}
	return paths
}

// searches returns the number of searches of a chat. OpenRouter and Perplexity
// report it. Others charge for the searches that the request offers.
func (m *meter) searches(reported int64) int64 { return max(reported, m.tools[WebSearchTool]) }

// responsesReport covers responses.
var responsesReport = &report{
	paths: append(usagePaths([]string{
		"input_tokens", "output_tokens", "input_tokens_details.cached_tokens", "input_tokens_details.cache_write_tokens", "output_tokens_details.reasoning_tokens",
	}, "", "response."),
		"response.incomplete_details.reason", "item.type", "item.action.type", "tool_usage.web_search.num_requests", "response.tool_usage.web_search.num_requests"),
	items: []string{"output.[].type", "output.[].action.type", "response.output.[].type", "response.output.[].action.type"},
	// Thoughts are encrypted. Their text has more bytes than tokens.
	texts: []string{"delta", "item.encrypted_content", "output.[].content.[].text", "output.[].arguments", "output.[].input", "output.[].encrypted_content"},
	read: func(m *meter, got map[string]string) {
		at := ""
		switch kind := got["type"]; kind {
		case "response.completed", "response.incomplete", "response.failed":
			m.final, m.done, at = true, true, "response."
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
		m.seen = true
		input := m.counts("usage.input_tokens")
		m.usage = Usage{
			Input: input, Output: m.counts("usage.output_tokens"),
			CacheRead:  min(input, m.counts("usage.input_tokens_details.cached_tokens")),
			CacheWrite: m.counts("usage.input_tokens_details.cache_write_tokens"),
			Reasoning:  m.counts("usage.output_tokens_details.reasoning_tokens"),
			ToolCalls:  m.called.most(m.output(at)).most(ToolCalls{WebSearch: m.counts("tool_usage.web_search.num_requests")}).most(m.usage.ToolCalls),
		}
	},
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

// messagesReport covers messages. A stream reports the input at its beginning.
// It reports the output near its end, where it may correct the input.
var messagesReport = &report{
	paths: append(usagePaths(anthropicUsage, "", "message."), "delta.stop_reason", "content_block.type"),
	items: []string{"content.[].type"},
	// A signature holds the encrypted thoughts, even if they are not shown.
	texts: []string{
		"delta.text", "delta.thinking", "delta.partial_json", "delta.signature", "content_block.name", "content_block.text", "content_block.data",
		"content.[].text", "content.[].thinking", "content.[].signature", "content.[].name", "content.[].input.*",
	},
	read: func(m *meter, got map[string]string) {
		switch got["type"] {
		case "content_block_start":
			m.called = m.called.Plus(resultsOf(map[string]int64{got["content_block.type"]: 1}))
			return
		case "message_start":
			m.seen = m.seen || got["message.usage.input_tokens"] != ""
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
	},
}

// resultsOf counts the calls of tools from the types of their result blocks.
// The usage also counts searches and fetches, without the failed ones.
func resultsOf(kinds map[string]int64) ToolCalls {
	return ToolCalls{
		WebSearch: kinds["web_search_tool_result"], WebFetch: kinds["web_fetch_tool_result"],
		Code: kinds["code_execution_tool_result"] + kinds["bash_code_execution_tool_result"] + kinds["text_editor_code_execution_tool_result"],
	}
}

var anthropicUsage = []string{
	"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
	"cache_creation.ephemeral_1h_input_tokens", "output_tokens_details.thinking_tokens",
	"server_tool_use.web_search_requests", "server_tool_use.web_fetch_requests",
}

// generateReport covers Gemini. Each event of a stream has the usage so far.
// The last event states why the model stopped.
var generateReport = &report{
	paths: []string{
		"usageMetadata.promptTokenCount", "usageMetadata.candidatesTokenCount", "usageMetadata.thoughtsTokenCount", "usageMetadata.totalTokenCount",
		"usageMetadata.toolUsePromptTokenCount", "usageMetadata.cachedContentTokenCount", "candidates.[].finishReason", "promptFeedback.blockReason",
		"usageMetadata.promptTokensDetails.[].modality", "usageMetadata.promptTokensDetails.[].tokenCount",
	},
	items:   []string{"candidates.[].groundingMetadata.groundingChunks.[].web.uri", "candidates.[].groundingMetadata.groundingChunks.[].maps.uri"},
	queries: []string{"candidates.[].groundingMetadata.webSearchQueries.[]", "candidates.[].groundingMetadata.imageSearchQueries.[]"},
	texts:   []string{"candidates.[].content.parts.[].text", "candidates.[].content.parts.[].functionCall.*", "candidates.[].content.parts.[].thoughtSignature"},
	read: func(m *meter, got map[string]string) {
		m.called = m.called.most(m.grounded())
		if firstOf(got, "candidates.[].finishReason", "promptFeedback.blockReason") != "" {
			m.final, m.done = true, true
		}
		if got["usageMetadata.promptTokenCount"] == "" {
			return
		}
		m.seen = true
		input := m.counts("usageMetadata.promptTokenCount", "usageMetadata.toolUsePromptTokenCount")
		output := m.counts("usageMetadata.candidatesTokenCount", "usageMetadata.thoughtsTokenCount")
		m.usage = Usage{
			Input: input, Output: max(output, m.counts("usageMetadata.totalTokenCount")-input),
			CacheRead: min(input, m.counts("usageMetadata.cachedContentTokenCount")),
			Audio:     max(m.usage.Audio, min(input, sound(got["usageMetadata.promptTokensDetails.[].modality"], got["usageMetadata.promptTokensDetails.[].tokenCount"]))),
			Reasoning: m.counts("usageMetadata.thoughtsTokenCount"),
			ToolCalls: m.called,
		}
	},
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
