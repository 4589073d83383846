package dialect

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// Anthropic's operations.
const (
	Messages    Operation = "messages"
	CountTokens Operation = "count_tokens"
)

// anthropicEndpoints are the paths that are always forwarded. anthropicBehind
// are prefixes of the paths that need an ability. Source of both tables: the
// types of Anthropic's client library for Python 2.12, beta features included.
var (
	anthropicEndpoints = map[string]endpoint{
		"POST /v1/messages":              {operation: Messages, body: anthropicMessages, query: []string{"beta"}},
		"POST /v1/messages/count_tokens": {operation: CountTokens, body: anthropicMessages, query: []string{"beta"}, free: true},
		"GET /v1/models":                 {operation: Models, free: true, query: []string{"beta", "limit", "after_id", "before_id"}},
	}
	anthropicBehind = map[string]endpoint{
		"/v1/messages/batches": {ability: Batch, unmetered: true},
		"/v1/files":            {ability: Files, free: true},
		"/v1/skills":           {ability: CodeInterpreter, free: true},
	}
)

var anthropicMessages = fields{
	"model": scalar, "max_tokens": scalar, "messages": list(anthropicMessage), "system": textOr(list(anthropicBlock)),
	"metadata": anything, "stop_sequences": scalars, "stream": scalar, "temperature": scalar, "top_k": scalar, "top_p": scalar,
	"thinking":      fields{"type": scalar, "budget_tokens": scalar, "display": scalar, "block_binding": anything},
	"output_config": fields{"effort": scalar, "format": anything, "task_budget": anything}, "output_format": anything,
	"tool_choice": anything, "tools": list(anthropicTool), "cache_control": anything,
	"service_tier": words(Premium, "auto", "standard_only"), "speed": words(Premium, "standard"),
	"inference_geo": needs(Premium),
	"context_management": fields{"edits": list(kinds{
		"clear_tool_uses_*": anything, "clear_thinking_*": anything, "compact_*": needs(Compaction),
	})},
	// provider-side features
	"mcp_servers": needs(MCP), "container": needs(CodeInterpreter), "compaction": needs(Compaction), "fallbacks": needs(OtherModels),
	"thread": needs(ServerState), "diagnostics": needs(ServerState),
	// fields of OpenRouter, LiteLLM and vLLM in this dialect
	"user": scalar, "session_id": scalar, "trace": anything, "anthropic_version": scalar, "usage": fields{"include": scalar},
	"chat_template_kwargs": templateArgs, "provider": compatible["provider"], "plugins": compatible["plugins"],
}.and(asking(OtherModels, "models route api_base base_url custom_llm_provider model_list user_config"))

var anthropicTool = kinds{
	"": anthropicClientTool, "custom": anthropicClientTool,
	// tools that the client runs, according to their documentation
	"bash_*": anthropicClientTool, "text_editor_*": anthropicClientTool, "memory_*": anthropicClientTool, "computer_2*": anthropicClientTool,
	// provider-side tools
	"web_search_*": offers(WebSearch, WebSearchTool, "max_uses"), "web_fetch_*": offers(WebFetch, WebFetchTool, "max_uses"), "code_execution_*": offers(CodeInterpreter, CodeTool, ""), "mcp_toolset": needs(MCP),
	"tool_search_tool_*": needs(ToolSearch), "advisor_*": needs(OtherModels),
	"browser_toolset_*": needs(ComputerUse), "computer_toolset_*": needs(ComputerUse),
}

var anthropicClientTool = fields{
	"type": scalar, "name": scalar, "description": scalar, "input_schema": anything, "input_examples": anything, "cache_control": anything,
	"allowed_callers": scalars, "defer_loading": scalar, "eager_input_streaming": scalar, "strict": scalar,
	"display_width_px": scalar, "display_height_px": scalar, "display_number": scalar, "enable_zoom": scalar, "max_characters": scalar,
}

var anthropicMessage = fields{"role": scalar, "content": textOr(anthropicBlocks), "clear_at": scalar, "output_config": fields{"effort": scalar},
	// parts of a response that clients send back
	"id": scalar, "type": scalar, "model": scalar, "stop_reason": scalar, "stop_sequence": scalar, "usage": anything}

// anthropicBlocks is filled in by newAnthropic, because the result of a tool
// contains blocks itself.
var anthropicBlocks = &lists{}

// anthropicThought is one of the model's thoughts, readable or not. The last
// two members come from clients that collected a stream.
var anthropicThought = fields{"type": scalar, "thinking": scalar, "signature": scalar, "data": scalar, "cache_control": anything, "index": scalar}

var anthropicBlock = kinds{
	"text":              fields{"type": scalar, "text": scalar, "cache_control": anything, "citations": anything, "parsed_output": anything, "index": scalar, "id": scalar},
	"thinking":          anthropicThought,
	"redacted_thinking": anthropicThought,
	"tool_use": fields{"type": scalar, "id": scalar, "name": scalar, "input": anything, "cache_control": anything, "caller": anything, "toolset_name": scalar,
		"index": scalar, "partial_json": scalar, "provider_specific_fields": echoed},
	"tool_result":    fields{"type": scalar, "tool_use_id": scalar, "content": textOr(anthropicBlocks), "is_error": scalar, "cache_control": anything, "toolset_name": scalar},
	"tool_reference": fields{"type": scalar, "tool_name": scalar, "cache_control": anything},
	"search_result":  fields{"type": scalar, "source": scalar, "title": scalar, "content": anthropicBlocks, "citations": anything, "cache_control": anything},
	"image": fields{"type": scalar, "cache_control": anything, "transformations": anything, "source": kinds{
		"base64": fields{"type": scalar, "media_type": scalar, "data": image},
		"url":    needs(RemoteFiles), "file": needs(Files),
	}},
	"document": fields{"type": scalar, "title": scalar, "context": scalar, "citations": anything, "cache_control": anything, "source": kinds{
		"base64":  fields{"type": scalar, "media_type": scalar, "data": otherMedia},
		"text":    fields{"type": scalar, "media_type": scalar, "data": scalar},
		"content": fields{"type": scalar, "content": textOr(anthropicBlocks)},
		"url":     needs(RemoteFiles), "file": needs(Files),
	}},
	"tool_addition": fields{"type": scalar, "cache_control": anything, "tool": kinds{
		"tool_reference":  anything,
		"tool_definition": fields{"type": scalar, "definition": anthropicTool},
		"mcp_*":           needs(MCP),
	}},
	"tool_removal": anything,
	"compaction":   hiding(fields{"type": scalar, "content": scalar, "encrypted_content": scalar, "signature": scalar, "cache_control": anything}),
	// traces of provider-side features in the history
	"server_tool_use": serverUse{}, "web_search_tool_result": needs(WebSearch), "web_fetch_tool_result": needs(WebFetch),
	"code_execution_tool_result": needs(CodeInterpreter), "bash_code_execution_tool_result": needs(CodeInterpreter),
	"text_editor_code_execution_tool_result": needs(CodeInterpreter), "container_upload": needs(Files),
	"mcp_*": needs(MCP), "tool_search_tool_result": needs(ToolSearch), "advisor_tool_result": needs(OtherModels), "fallback": needs(OtherModels),
}

// anthropicServerUses are the abilities behind the tools named by
// server_tool_use.
var anthropicServerUses = map[string]Ability{
	"web_search": WebSearch, "web_fetch": WebFetch, "code_execution": CodeInterpreter, "bash_code_execution": CodeInterpreter,
	"text_editor_code_execution": CodeInterpreter, "tool_search_tool_regex": ToolSearch, "tool_search_tool_bm25": ToolSearch, "advisor": OtherModels,
}

// serverUse is a call of a provider-side tool in the history.
type serverUse struct{}

func (serverUse) check(c *check, i int) *Refusal {
	name := ""
	if n, ok := c.find(i, "name"); ok {
		name = c.text(n)
	}
	a, ok := anthropicServerUses[name]
	if !ok {
		a = UnknownFields
	}
	return needs(a).check(c, i)
}

// anthropic is Anthropic's dialect.
type anthropic struct{ rules }

func newAnthropic() *anthropic {
	anthropicBlocks.of = anthropicBlock
	return &anthropic{rules{
		name: "anthropic", baseURL: "https://api.anthropic.com", keyPrefix: "sk-ant-",
		endpoints: anthropicEndpoints, guarded: anthropicBehind, keyHeaders: []string{"X-Api-Key", "Authorization"},
		errors: map[Reason]string{
			BadKey: "authentication_error", BadRequest: "invalid_request_error", NotAllowed: "permission_error", TooLarge: "request_too_large",
			RateLimited: "rate_limit_error", OverBudget: "billing_error", Unreachable: "api_error", NoRecording: "conflict_error",
		},
		headers: []string{"Accept", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access", "X-App", "Idempotency-Key", "X-Stainless-*"},
		// The vision documentation says that an image is scaled down until it
		// counts at most 4,784 tokens (1,568 with older models).
		imageTokens: 5000,
		// The documentation of tool use says that tools add a text of at most
		// 1,000 tokens. Computer use and editing add a few hundred per tool.
		extraTokens: 4000,
	}}
}

// Variables implements Dialect.
func (*anthropic) Variables(endpoint, key string) map[string]string {
	return map[string]string{"ANTHROPIC_BASE_URL": endpoint, "ANTHROPIC_API_KEY": key}
}

// SetKey implements Dialect. An OAuth token goes into the Authorization header.
func (*anthropic) SetKey(header http.Header, query url.Values, key string) {
	dropKeys(header, query)
	if strings.HasPrefix(key, "sk-ant-oat") {
		header.Set("Authorization", "Bearer "+key)
		return
	}
	header.Set("X-Api-Key", key)
}

// Read implements Dialect.
func (a *anthropic) Read(in Incoming, grants Grants) (*Request, error) {
	c, r, err := a.begin(in, grants)
	if err != nil || c == nil {
		return r, err
	}
	// max_tokens bounds one response, thinking included. A larger thinking
	// budget covers several responses.
	r.OutputTokens, err = c.limit(0, "max_tokens")
	return r, err
}

// Error implements Dialect.
func (a *anthropic) Error(r Refusal) (int, http.Header, []byte) {
	status, kind := a.failure(r.Reason)
	return status, errorHeader(r), compact(`{"type":"error","error":{"type":`, jsontoken.Quote(kind), `,"message":`, jsontoken.Quote(r.Text), `}}`)
}
