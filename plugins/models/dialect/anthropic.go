package dialect

import "cmp"

// Messages is Anthropic's operation.
const Messages Operation = "messages"

// anthropicServerUses are the abilities behind the tools named by
// server_tool_use.
var anthropicServerUses = map[string]Ability{
	"web_search": WebSearch, "web_fetch": WebFetch, "code_execution": CodeInterpreter, "bash_code_execution": CodeInterpreter,
	"text_editor_code_execution": CodeInterpreter, "tool_search_tool_regex": ToolSearch, "tool_search_tool_bm25": ToolSearch, "advisor": OtherModels,
}

// serverUse is a call of a provider-side tool in the history.
var serverUse = shapeFunc(func(c *check, i int) *Refusal {
	return needs(cmp.Or(anthropicServerUses[c.memberText(i, "name")], UnknownFields)).check(c, i)
})

func readAnthropic(d *protocol, in Incoming, grants Grants) (*Request, error) {
	c, r, err := d.begin(in, grants)
	if err != nil || c == nil {
		return r, err
	}
	// max_tokens bounds one response, thinking included. A larger thinking
	// budget covers several responses.
	r.OutputTokens, err = c.limit(0, "max_tokens")
	return r, err
}
