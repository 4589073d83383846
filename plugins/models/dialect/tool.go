package dialect

// Tool is a tool that a provider runs itself and may charge for by the call.
type Tool string

// The tools whose calls are counted. Others, such as remote MCP servers, are
// charged by their tokens only.
const (
	WebSearchTool  Tool = "web_search"
	MapsTool       Tool = "google_maps"
	WebFetchTool   Tool = "web_fetch"
	FileSearchTool Tool = "file_search"
	CodeTool       Tool = "code_interpreter"
	ImageTool      Tool = "image_generation"
)

// Tools are all tools, in the order of the documentation.
func Tools() []Tool {
	return []Tool{WebSearchTool, MapsTool, WebFetchTool, FileSearchTool, CodeTool, ImageTool}
}

// ToolCalls are how often a response says that the provider called its tools.
type ToolCalls struct {
	WebSearch  int64 `json:"web_search,omitempty"`
	Maps       int64 `json:"google_maps,omitempty"`
	WebFetch   int64 `json:"web_fetch,omitempty"`
	FileSearch int64 `json:"file_search,omitempty"`
	Code       int64 `json:"code_interpreter,omitempty"`
	Image      int64 `json:"image_generation,omitempty"`
}

// at is the number of calls of a tool.
func (c *ToolCalls) at(t Tool) *int64 {
	switch t {
	case WebSearchTool:
		return &c.WebSearch
	case MapsTool:
		return &c.Maps
	case WebFetchTool:
		return &c.WebFetch
	case FileSearchTool:
		return &c.FileSearch
	case CodeTool:
		return &c.Code
	}
	return &c.Image
}

// Of is the number of calls of a tool.
func (c ToolCalls) Of(t Tool) int64 { return *c.at(t) }

// Plus is the sum of both.
func (c ToolCalls) Plus(o ToolCalls) ToolCalls {
	for _, t := range Tools() {
		*c.at(t) += o.Of(t)
	}
	return c
}

// most is the greater number of each tool.
func (c ToolCalls) most(o ToolCalls) ToolCalls {
	for _, t := range Tools() {
		*c.at(t) = max(c.Of(t), o.Of(t))
	}
	return c
}

// offers is a value that takes an ability, and by which the provider may call a
// tool of its own. The member of that name, if any, limits the calls.
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

// offer notes that the provider may call a tool, so many times at most; 0 is no
// limit.
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
