// Package atif is the form of the trajectories in ATIF that the Python package writes, from which
// a test makes docs/schemas/export-atif.json.
package atif

import "encoding/json"

// Trajectory is one conversation.
type Trajectory struct {
	SchemaVersion string         `json:"schema_version"`
	SessionID     string         `json:"session_id,omitempty"`
	TrajectoryID  string         `json:"trajectory_id,omitempty"`
	Agent         Agent          `json:"agent"`
	Steps         []*Step        `json:"steps"`
	Notes         string         `json:"notes,omitempty"`
	FinalMetrics  FinalMetrics   `json:"final_metrics"`
	Extra         map[string]any `json:"extra,omitempty"`
	Subagents     []*Trajectory  `json:"subagent_trajectories,omitempty"`
}

// Agent is the program that ran.
type Agent struct {
	Name            string         `json:"name"`
	Version         string         `json:"version"`
	ModelName       string         `json:"model_name,omitempty"`
	ToolDefinitions []Definition   `json:"tool_definitions,omitempty"`
	Extra           map[string]any `json:"extra,omitempty"`
}

// Definition is a tool, in the form of OpenAI's function calls.
type Definition struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

// Step is one contribution to a conversation.
type Step struct {
	ID            int            `json:"step_id"`
	Timestamp     string         `json:"timestamp,omitempty"`
	Source        string         `json:"source"`
	ModelName     string         `json:"model_name,omitempty"`
	Message       string         `json:"message"`
	Reasoning     string         `json:"reasoning_content,omitempty"`
	ToolCalls     []ToolCall     `json:"tool_calls,omitempty"`
	Observation   *Observation   `json:"observation,omitempty"`
	Metrics       *Metrics       `json:"metrics,omitempty"`
	CopiedContext bool           `json:"is_copied_context,omitempty"`
	Calls         int            `json:"llm_call_count,omitempty"`
	Extra         map[string]any `json:"extra,omitempty"`
}

// ToolCall is a call of a tool. Arguments that are not a JSON object become the
// argument "input".
type ToolCall struct {
	ID        string          `json:"tool_call_id"`
	Function  string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Observation holds the results of tools.
type Observation struct {
	Results []Result `json:"results"`
}

// Result is the result of one tool call.
type Result struct {
	CallID  string         `json:"source_call_id,omitempty"`
	Content string         `json:"content"`
	Extra   map[string]any `json:"extra,omitempty"`
}

// Metrics are the metrics of one exchange. PromptTokens includes CachedTokens.
type Metrics struct {
	PromptTokens     int64          `json:"prompt_tokens"`
	CompletionTokens int64          `json:"completion_tokens"`
	CachedTokens     int64          `json:"cached_tokens,omitempty"`
	CostUSD          float64        `json:"cost_usd"`
	Extra            map[string]any `json:"extra,omitempty"`
}

// FinalMetrics are totals. The cost includes that of subagents.
type FinalMetrics struct {
	PromptTokens     int64          `json:"total_prompt_tokens"`
	CompletionTokens int64          `json:"total_completion_tokens"`
	CachedTokens     int64          `json:"total_cached_tokens"`
	CostUSD          float64        `json:"total_cost_usd"`
	Steps            int            `json:"total_steps"`
	Extra            map[string]any `json:"extra,omitempty"`
}
