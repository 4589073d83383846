package dialect

import "strings"

// OpenAI's operations.
const (
	ChatCompletions Operation = "chat.completions"
	Completions     Operation = "completions"
	Responses       Operation = "responses"
	Embeddings      Operation = "embeddings"
	Models          Operation = "models"
)

// openAIModels are substrings of the names of models that search the web
// unasked.
var openAIModels = []string{"search-preview", "search-api", "deep-research", ":online", "sonar", "compound"}

func readOpenAI(d *protocol, in Incoming, grants Grants) (*Request, error) {
	c, r, err := d.begin(in, grants)
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
	err = c.openAIBounds(r)
	c.askTokens(r, in.Tokens, ofOperation(d.Tokens[in.Tokens], r.Operation))
	return r, err
}

// openAIBounds fills in the limits of a request's cost. It requests the usage if the
// response would not include it.
func (c *check) openAIBounds(r *Request) error {
	r.OutputTokens = c.outputLimit()
	r.Choices = max(1, c.limits(0, "n", "best_of"))
	if p, ok := c.find(0, "prediction"); ok && r.OutputTokens > 0 {
		r.OutputTokens += int64(c.nodes[p].end - c.nodes[p].start)
	}
	if r.Operation == Embeddings {
		r.OutputTokens, r.Choices = 0, 0
	}
	c.toolLimits(r)
	if r.Stream && (r.Operation == ChatCompletions || r.Operation == Completions) {
		c.includeUsage(r)
	}
	r.Body = splice(c.raw, c.edits)
	return c.err
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
func (c *check) outputLimit() int64 {
	most := c.limits(0, "max_tokens", "max_completion_tokens", "max_output_tokens")
	if _, ok := c.find(0, "n_predict"); ok {
		n := c.limits(0, "n_predict")
		if n == 0 {
			return 0
		}
		most = max(most, n)
	}
	if most == 0 {
		return 0
	}
	for _, path := range thinkingLimits {
		at, ok := 0, true
		for _, name := range path[:len(path)-1] {
			if ok {
				at, ok = c.find(at, name)
			}
		}
		if ok {
			most += c.limits(at, path[len(path)-1])
		}
	}
	return most
}

// toolLimits fills in the limits of the provider's tool calls. According to
// OpenAI's prices, a chat searches once per choice. A response may limit the
// total of all calls.
func (c *check) toolLimits(r *Request) {
	most := r.Choices
	if r.Operation != ChatCompletions && r.Operation != Completions {
		most = c.limits(0, "max_tool_calls")
	}
	for t := range c.tools {
		c.tools[t] = most
	}
	r.Tools = c.tools
}

// includeUsage makes the stream report its usage at the end.
func (c *check) includeUsage(r *Request) {
	const set = `"include_usage":true`
	options, flag := c.member(0, "stream_options"), 0
	if options > 0 {
		flag = c.member(options, "include_usage")
	}
	switch {
	case options == 0:
		c.insert(0, `"stream_options":{`+set+`}`)
	case flag > 0 && string(c.bytes(flag)) == "true":
		return
	case flag > 0:
		c.put(flag, "true")
	case int(c.nodes[options].next) == options+1: // null or empty
		c.put(options, "{"+set+"}")
	default:
		c.insert(options, set)
	}
	r.Changed = append(r.Changed, "stream_options.include_usage")
}

// put replaces a value. insert adds a member to an object that has others.
func (c *check) put(i int, text string) {
	c.edits = append(c.edits, edit{int(c.nodes[i].start), int(c.nodes[i].end), text})
}

func (c *check) insert(i int, member string) {
	at := int(c.nodes[i].start) + 1
	c.edits = append(c.edits, edit{at, at, member + ","})
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
