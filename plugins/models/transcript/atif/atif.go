package atif

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// mostText bounds the texts of an export, which is built in memory.
const mostText = 1 << 30

// ErrEmpty means that a transcript has no conversation to export.
var ErrEmpty = errors.New("no conversation was recorded")

// Run holds facts that are not in the transcript.
type Run struct {
	// Session identifies the attempt. Agent and Version are the agent's name
	// and version.
	Session, Agent, Version string
	Extra                   map[string]any
}

// Export converts a transcript into a trajectory.
func Export(r *transcript.Reader, run Run) (*Trajectory, error) {
	x := exporter{run: run, by: map[int]*conversation{}}
	size := 0
	for t, err := range r.Turns() {
		if err != nil {
			return nil, err
		}
		if t.Conversation == 0 {
			continue
		}
		if size += textSize(t); size > mostText {
			return nil, fmt.Errorf("the texts have more than %d bytes", mostText)
		}
		x.conversation(t).add(t)
	}
	if len(x.all) == 0 {
		return nil, ErrEmpty
	}
	return x.trajectory(), nil
}

func textSize(t *transcript.Turn) int {
	size := 0
	for _, m := range append(slices.Clone(t.Said), t.Reply) {
		size += len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			size += len(c.Arguments)
		}
		for _, r := range m.Results {
			size += len(r.Text)
		}
	}
	return size
}

type exporter struct {
	run Run
	all []*conversation
	by  map[int]*conversation // by number
}

// conversation is a trajectory under construction.
type conversation struct {
	Trajectory
	models map[string]int
	cost   int64 // in billionths of a dollar
	// last is the last step of the agent, whose calls await results.
	last *Step
}

func (x *exporter) conversation(t *transcript.Turn) *conversation {
	if c := x.by[t.Conversation]; c != nil {
		return c
	}
	c := &conversation{models: map[string]int{}, Trajectory: Trajectory{
		SchemaVersion: Version, SessionID: x.run.Session, TrajectoryID: fmt.Sprintf("conversation-%d", t.Conversation),
		Agent: Agent{Name: cmp.Or(x.run.Agent, "unknown"), Version: cmp.Or(x.run.Version, "unknown")},
	}}
	x.all, x.by[t.Conversation] = append(x.all, c), c
	return c
}

// trajectory embeds the other conversations in the longest one.
func (x *exporter) trajectory() *Trajectory {
	longest := x.all[0]
	var cost int64
	for _, c := range x.all {
		c.finish()
		cost += c.cost
		if len(c.Steps) > len(longest.Steps) {
			longest = c
		}
	}
	root := &longest.Trajectory
	for _, c := range x.all {
		if c != longest {
			root.Subagents = append(root.Subagents, &c.Trajectory)
		}
	}
	root.FinalMetrics.CostUSD, root.Extra = dollars(cost), x.run.Extra
	return root
}

// add appends the steps of an exchange.
func (c *conversation) add(t *transcript.Turn) {
	for _, m := range t.Said {
		c.say(m, t.Time)
	}
	if len(t.Tools) > 0 {
		c.Agent.ToolDefinitions = definitions(t.Tools)
	}
	if t.Refused != "" || t.Status == 0 || t.Status >= 400 {
		why := cmp.Or(t.Reply.Error, string(t.Refused), t.Failed, "the client left")
		c.step(&Step{Source: "system", Message: fmt.Sprintf("The model request failed (%d): %s", t.Status, why), Timestamp: stamp(t.Time), Extra: exchange(t)})
		return
	}
	c.models[t.Asked]++
	s := &Step{Source: "agent", Message: t.Reply.Text, Reasoning: t.Reply.Reasoning, ModelName: t.Asked, Calls: 1, Timestamp: stamp(t.Time), Extra: exchange(t)}
	if t.Reply.Error != "" {
		s.Extra["error"] = t.Reply.Error
	}
	s.ToolCalls = c.calls(t.Reply.Calls)
	s.Metrics = metrics(t)
	c.step(s)
	c.last = s
	f := &c.FinalMetrics
	f.PromptTokens, f.CompletionTokens = f.PromptTokens+s.Metrics.PromptTokens, f.CompletionTokens+s.Metrics.CompletionTokens
	f.CachedTokens += s.Metrics.CachedTokens
	c.cost += t.Cost
}

func (c *conversation) step(s *Step) {
	s.ID = len(c.Steps) + 1
	c.Steps = append(c.Steps, s)
}

// say appends a message of a request.
func (c *conversation) say(m message.Message, at time.Time) {
	switch m.Role {
	case "assistant": // not from a recorded exchange
		s := &Step{Source: "agent", Message: m.Text, Reasoning: m.Reasoning, ToolCalls: c.calls(m.Calls), CopiedContext: true}
		c.step(s)
		c.last = s
	case "tool":
		c.observe(m.Results, at)
		if m.Text != "" {
			c.step(&Step{Source: "user", Message: m.Text, Timestamp: stamp(at)})
		}
	default:
		c.step(&Step{Source: m.Role, Message: m.Text, Timestamp: stamp(at)})
	}
}

// observe adds results to the step that called the tools. Some dialects only
// name the tool. A result then belongs to its first call without a result.
func (c *conversation) observe(results []message.Result, at time.Time) {
	if len(results) == 0 {
		return
	}
	s := c.last
	if s == nil {
		s = &Step{Source: "system", Timestamp: stamp(at)}
		c.step(s)
	}
	if s.Observation == nil {
		s.Observation = &Observation{}
	}
	for _, r := range results {
		one := Result{CallID: callOf(s, r), Content: r.Text}
		if r.Failed {
			one.Extra = map[string]any{"is_error": true}
		}
		s.Observation.Results = append(s.Observation.Results, one)
	}
}

func callOf(s *Step, r message.Result) string {
	for _, c := range s.ToolCalls {
		answered := slices.ContainsFunc(s.Observation.Results, func(x Result) bool { return x.CallID == c.ID })
		if c.ID == r.ID || r.ID == "" && !answered && (r.Name == "" || r.Name == c.Function) {
			return c.ID
		}
	}
	return ""
}

// calls converts the calls of the next step.
func (c *conversation) calls(calls []message.Call) (out []ToolCall) {
	for i, call := range calls {
		id := cmp.Or(call.ID, fmt.Sprintf("call-%d-%d", len(c.Steps)+1, i+1))
		out = append(out, ToolCall{id, call.Name, arguments(call.Arguments)})
	}
	return out
}

// arguments returns arguments as a JSON object.
func arguments(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	if text == "" {
		return json.RawMessage("{}")
	}
	wrapped, _ := json.Marshal(map[string]string{"input": text})
	return wrapped
}

func definitions(tools []message.Tool) []Definition {
	out := make([]Definition, len(tools))
	for i, t := range tools {
		out[i].Type = "function"
		out[i].Function.Name, out[i].Function.Description, out[i].Function.Parameters = t.Name, t.Description, t.Parameters
	}
	return out
}

// exchange returns details of an exchange for which the format has no field.
func exchange(t *transcript.Turn) map[string]any {
	extra := map[string]any{"sequence": t.Sequence, "model_block": t.Model, "provider": t.Provider, "seconds": t.Seconds}
	for name, v := range map[string]float64{"first_byte_seconds": t.FirstByte, "waited_seconds": t.Waited} {
		if v > 0 {
			extra[name] = v
		}
	}
	if t.Replayed {
		extra["replayed"] = true
	}
	if t.Status != 200 {
		extra["status"] = t.Status
	}
	return extra
}

func metrics(t *transcript.Turn) *Metrics {
	m := &Metrics{CostUSD: dollars(t.Cost)}
	if u := t.Usage; u != nil {
		m.PromptTokens, m.CompletionTokens, m.CachedTokens = u.Input, u.Output, u.CacheRead
		m.Extra = map[string]any{"reasoning_tokens": u.Reasoning, "cache_write_tokens": u.CacheWrite}
	}
	switch {
	case t.Estimated && t.Usage != nil:
		m.Extra["cost_is_estimate"] = true
	case t.Estimated: // older transcripts say no usage
		m.Extra = map[string]any{"cost_is_estimate": true}
	case !t.Reported:
		m.Extra = map[string]any{"cost_is_reservation": true}
	}
	return m
}

func dollars(nano int64) float64 { return float64(nano) / 1e9 }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// finish moves the name of the most used model from the steps to the agent.
func (c *conversation) finish() {
	for name, n := range c.models {
		if n > c.models[c.Agent.ModelName] || n == c.models[c.Agent.ModelName] && name < c.Agent.ModelName {
			c.Agent.ModelName = name
		}
	}
	for _, s := range c.Steps {
		if s.ModelName == c.Agent.ModelName {
			s.ModelName = ""
		}
	}
	c.FinalMetrics.Steps, c.FinalMetrics.CostUSD = len(c.Steps), dollars(c.cost)
}
