package dialect

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// openAI is the dialect of OpenAI and compatible servers.
type openAI struct{ rules }

func newOpenAI() *openAI {
	return &openAI{rules{
		name: "openai", baseURL: "https://api.openai.com/v1", keyPrefix: "sk-",
		endpoints: openAIEndpoints, guarded: openAIBehind, keyHeaders: []string{"Authorization"},
		errors: map[Reason]string{
			RateLimited: "requests", OverBudget: "insufficient_quota", Unreachable: "server_error", BadRequest: "invalid_request_error",
		},
		codes:      map[Reason]string{BadKey: "invalid_api_key", RateLimited: "rate_limit_exceeded", OverBudget: "insufficient_quota"},
		overBudget: http.StatusTooManyRequests,
		headers:    []string{"Accept", "User-Agent", "Openai-Beta", "Idempotency-Key", "X-Client-Request-Id", "X-Stainless-*"},
		// The most expensive image in the documentation has 2048 by 768 pixels
		// and is sent to gpt-4o-mini: 2833 tokens and 5667 for each of 8 tiles.
		imageTokens: 50000,
		// The documentation mentions only a few tokens added per message and
		// tool, fewer than the bytes of their JSON.
		extraTokens: 1000,
	}}
}

// Variables implements Dialect.
func (*openAI) Variables(endpoint, key string) map[string]string {
	return map[string]string{"OPENAI_BASE_URL": endpoint + "/v1", "OPENAI_API_BASE": endpoint + "/v1", "OPENAI_API_KEY": key}
}

// SetKey implements Dialect.
func (*openAI) SetKey(header http.Header, query url.Values, key string) {
	dropKeys(header, query)
	header.Set("Authorization", "Bearer "+key)
}

// Read implements Dialect.
func (o *openAI) Read(in Incoming, grants Grants) (*Request, error) {
	c, r, err := o.begin(in, grants)
	if err != nil || c == nil {
		return r, err
	}
	for _, part := range openAIModels {
		if strings.Contains(strings.ToLower(r.Model), part) {
			r.Hidden = true
			if !grants[WebSearch] {
				return nil, lacks(WebSearch, "the model "+r.Model)
			}
			c.offer(WebSearchTool, 0)
		}
	}
	return r, o.bounds(c, r)
}

// behind finds an endpoint that needs an ability.
func behind(table map[string]endpoint, method, path string) (*endpoint, string, error) {
	for prefix, e := range table {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			e.method, e.operation = method, Raw
			return &e, "", nil
		}
	}
	return nil, "", noEndpoint(method, path)
}

// bounds fills in the limits of a request's cost. It requests the usage if the
// response would not include it.
func (*openAI) bounds(c *check, r *Request) (err error) {
	if r.OutputTokens, err = c.outputLimit(); err != nil {
		return err
	}
	choices, err := c.limits(0, "n", "best_of")
	if err != nil {
		return err
	}
	r.Choices = max(1, choices)
	if p, ok := c.find(0, "prediction"); ok && r.OutputTokens > 0 {
		r.OutputTokens += int64(c.nodes[p].end - c.nodes[p].start)
	}
	if r.Operation == Embeddings {
		r.OutputTokens, r.Choices = 0, 0
	}
	if err := c.toolLimits(r); err != nil {
		return err
	}
	if r.Stream && (r.Operation == ChatCompletions || r.Operation == Completions) {
		return c.includeUsage(r)
	}
	return nil
}

// thinkingLimits are the paths of members that let a model think beyond the
// limit of its answer.
var thinkingLimits = [][]string{
	{"thinking_budget"}, {"thinking_token_budget"}, {"thinking", "budget_tokens"},
	{"google", "thinking_config", "thinking_budget"}, {"extra_body", "google", "thinking_config", "thinking_budget"},
}

// outputLimit returns the largest number of tokens that a choice may have,
// thoughts included, or 0 without a limit. Servers differ in which of several
// limits they apply, so the largest counts. llama.cpp applies n_predict, even
// if it means no limit.
func (c *check) outputLimit() (int64, error) {
	most, err := c.limits(0, "max_tokens", "max_completion_tokens", "max_output_tokens")
	if err != nil {
		return 0, err
	}
	if _, ok := c.find(0, "n_predict"); ok {
		n, err := c.limit(0, "n_predict")
		if err != nil || n == 0 {
			return 0, err
		}
		most = max(most, n)
	}
	if most == 0 {
		return 0, nil
	}
	for _, path := range thinkingLimits {
		at, ok := 0, true
		for _, name := range path[:len(path)-1] {
			if ok {
				at, ok = c.find(at, name)
			}
		}
		if !ok {
			continue
		}
		n, err := c.limit(at, path[len(path)-1])
		if err != nil {
			return 0, err
		}
		most += n
	}
	return most, nil
}

// toolLimits fills in the limits of the provider's tool calls. According to
// OpenAI's prices, a chat searches once per choice. A response may limit the
// total of all calls.
func (c *check) toolLimits(r *Request) error {
	most := r.Choices
	if r.Operation != ChatCompletions && r.Operation != Completions {
		var err error
		if most, err = c.limit(0, "max_tool_calls"); err != nil {
			return err
		}
	}
	for t := range c.tools {
		c.tools[t] = most
	}
	r.Tools = c.tools
	return nil
}

// includeUsage makes the stream report its usage at the end.
func (c *check) includeUsage(r *Request) error {
	const set = `"include_usage":true`
	options, flag := c.member(0, "stream_options"), 0
	if options > 0 {
		flag = c.member(options, "include_usage")
	}
	put := func(i int, text string) { r.Body = splice(c.raw, c.nodes[i].start, c.nodes[i].end, text) }
	insert := func(i int, text string) { r.Body = splice(c.raw, c.nodes[i].start+1, c.nodes[i].start+1, text) }
	switch {
	case options == 0:
		insert(0, `"stream_options":{`+set+`},`)
	case flag > 0 && string(c.bytes(flag)) == "true":
		return nil
	case flag > 0:
		put(flag, "true")
	case int(c.nodes[options].next) == options+1: // null or empty
		put(options, "{"+set+"}")
	default:
		insert(options, set+",")
	}
	r.Changed = append(r.Changed, "stream_options.include_usage")
	return nil
}

// member returns the last member with that name, even if it is null, or 0 if
// there is none.
func (c *check) member(i int, name string) (at int) {
	for m := range c.children(i) {
		if c.name(m) == name {
			at = m
		}
	}
	return at
}

// Error implements Dialect.
func (o *openAI) Error(r Refusal) (int, http.Header, []byte) {
	status, kind := o.failure(r.Reason)
	body := compact(`{"error":{"message":`, jsontoken.Quote(r.Text), `,"type":`, jsontoken.Quote(kind), `,"param":null,"code":`, jsontoken.Quote(cmp.Or(o.codes[r.Reason], string(r.Reason))), `}}`)
	return status, errorHeader(r), body
}
