package inspectlog

import "encoding/json"

// The documents of a log, as Inspect AI 0.3.285 defines them; it is version 2 of
// its format. Fields with a default there are left out.

const formatVersion = 2

type header struct {
	Version int        `json:"version"`
	Status  string     `json:"status,omitempty"`
	Eval    spec       `json:"eval"`
	Plan    plan       `json:"plan"`
	Results *scoreSet  `json:"results,omitempty"`
	Stats   *stats     `json:"stats,omitempty"`
	Error   *evalError `json:"error,omitempty"`
}

type spec struct {
	EvalID   string         `json:"eval_id"`
	RunID    string         `json:"run_id"`
	Created  string         `json:"created"`
	Task     string         `json:"task"`
	TaskID   string         `json:"task_id"`
	Solver   string         `json:"solver"`
	Tags     []string       `json:"tags,omitempty"`
	Dataset  dataset        `json:"dataset"`
	Model    string         `json:"model"`
	Config   config         `json:"config"`
	Metadata map[string]any `json:"metadata"`
}

type dataset struct {
	Name      string   `json:"name"`
	Samples   int      `json:"samples"`
	SampleIDs []string `json:"sample_ids"`
	Shuffled  bool     `json:"shuffled"`
}

type config struct {
	Epochs        int      `json:"epochs"`
	EpochsReducer []string `json:"epochs_reducer"`
}

type plan struct {
	Name  string     `json:"name"`
	Steps []planStep `json:"steps"`
}

type planStep struct {
	Solver string `json:"solver"`
}

type evalError struct {
	Message       string `json:"message"`
	Traceback     string `json:"traceback"`
	TracebackANSI string `json:"traceback_ansi"`
}

type stats struct {
	Started   string            `json:"started_at"`
	Completed string            `json:"completed_at"`
	Usage     map[string]*Usage `json:"model_usage"`
}

type scoreSet struct {
	Total     int         `json:"total_samples"`
	Completed int         `json:"completed_samples"`
	Scores    []evalScore `json:"scores"`
}

type evalScore struct {
	Name     string            `json:"name"`
	Scorer   string            `json:"scorer"`
	Reducer  string            `json:"reducer"`
	Scored   int               `json:"scored_samples"`
	Unscored int               `json:"unscored_samples"`
	Metrics  map[string]metric `json:"metrics"`
}

type metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

type reduction struct {
	Scorer  string         `json:"scorer"`
	Reducer string         `json:"reducer"`
	Samples []reducedScore `json:"samples"`
}

type reducedScore struct {
	Value    float64 `json:"value"`
	SampleID string  `json:"sample_id"`
}

// outline holds the fields that a sample and its summary share.
type outline struct {
	ID        string            `json:"id"`
	Epoch     int               `json:"epoch"`
	Input     string            `json:"input"`
	Target    string            `json:"target"`
	Metadata  map[string]any    `json:"metadata"`
	Scores    map[string]score  `json:"scores,omitempty"`
	Usage     map[string]*Usage `json:"model_usage"`
	Started   string            `json:"started_at,omitempty"`
	Ended     string            `json:"completed_at,omitempty"`
	TotalTime *float64          `json:"total_time,omitempty"`
	UUID      string            `json:"uuid"`
	Turns     int               `json:"turn_count,omitempty"`
	TimeLimit *int              `json:"time_limit,omitempty"`
}

type sample struct {
	outline
	Messages []*message `json:"messages"`
	Output   output     `json:"output"`
	Events   []event    `json:"events"`
	Pool     *pool      `json:"events_data,omitempty"`
	Error    *evalError `json:"error,omitempty"`
	Limit    *limit     `json:"limit,omitempty"`
}

// pool holds the messages that model events refer to.
type pool struct {
	Messages []*message `json:"messages"`
	Calls    []struct{} `json:"calls"`
}

type limit struct {
	Type   string  `json:"type"`
	Limit  float64 `json:"limit"`
	Reason string  `json:"reason,omitempty"`
}

type summary struct {
	outline
	Error        string `json:"error,omitempty"`
	Limit        string `json:"limit,omitempty"`
	LimitReason  string `json:"limit_reason,omitempty"`
	Completed    bool   `json:"completed"`
	MessageCount int    `json:"message_count"`
}

// score has a number or a string as its value; null is read as NaN in events.
type score struct {
	Value       any            `json:"value"`
	Explanation string         `json:"explanation,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

type message struct {
	ID        string     `json:"id"`
	Role      string     `json:"role"`
	Content   any        `json:"content"` // a string, or a list of content
	Source    string     `json:"source,omitempty"`
	Model     string     `json:"model,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
	Function  string     `json:"function,omitempty"`
	Error     *toolError `json:"error,omitempty"`
}

type content struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

type toolCall struct {
	ID        string          `json:"id"`
	Function  string          `json:"function"`
	Arguments json.RawMessage `json:"arguments"`
	Type      string          `json:"type"`
}

type toolError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type output struct {
	Model      string   `json:"model"`
	Choices    []choice `json:"choices"`
	Completion string   `json:"completion"`
	Usage      *Usage   `json:"usage,omitempty"`
	Time       float64  `json:"time,omitempty"`
}

type choice struct {
	Message    *message `json:"message"`
	StopReason string   `json:"stop_reason"`
}

// event is a model event or a score event.
type event struct {
	Event        string         `json:"event"`
	UUID         string         `json:"uuid"`
	Timestamp    string         `json:"timestamp"`
	WorkingStart float64        `json:"working_start"`
	Metadata     map[string]any `json:"metadata,omitempty"`
	*modelEvent
	*scoreEvent
}

type modelEvent struct {
	Model      string     `json:"model"`
	Input      []struct{} `json:"input"`
	InputRefs  [][2]int   `json:"input_refs"`
	Tools      []struct{} `json:"tools"`
	ToolChoice string     `json:"tool_choice"`
	Config     struct{}   `json:"config"`
	Output     output     `json:"output"`
	Error      string     `json:"error,omitempty"`
}

type scoreEvent struct {
	Score        score  `json:"score"`
	Intermediate bool   `json:"intermediate"`
	Scorer       string `json:"scorer"`
}
