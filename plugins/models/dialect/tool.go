package dialect

import "slices"

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
