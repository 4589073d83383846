package inspectlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mleflow/mleflow/plugins/models/transcript/atif"
)

// talker converts the conversations of an attempt.
type talker struct {
	uuid     string
	started  time.Time
	messages []*message // of all conversations, one after another
	events   []event
}

// converse returns the messages of a conversation and records its exchanges as
// events.
func (k *talker) converse(tr *atif.Trajectory) []*message {
	first := len(k.messages)
	functions := map[string]string{}
	for _, s := range tr.Steps {
		_, exchange := s.Extra["sequence"]
		if exchange {
			k.exchange(tr, s, first)
		}
		switch {
		case s.Source == "agent":
			k.messages = append(k.messages, k.assistant(s, model(tr, s)))
		case !exchange && s.Message != "":
			k.messages = append(k.messages, &message{ID: k.id(), Role: s.Source, Content: s.Message, Source: "input"})
		}
		for _, c := range s.ToolCalls {
			functions[c.ID] = c.Function
		}
		if s.Observation != nil {
			k.observe(s.Observation, functions)
		}
	}
	return k.messages[first:]
}

func (k *talker) id() string { return fmt.Sprintf("%s-%d", k.uuid, len(k.messages)) }

func model(tr *atif.Trajectory, s *atif.Step) string {
	provider, _ := s.Extra["provider"].(string)
	return modelName(provider, cmp.Or(s.ModelName, tr.Agent.ModelName))
}

// exchange records a request with the conversation so far, and its reply.
func (k *talker) exchange(tr *atif.Trajectory, s *atif.Step, first int) {
	seconds, _ := s.Extra["seconds"].(float64)
	m := &modelEvent{
		Model: model(tr, s), Input: []struct{}{}, InputRefs: [][2]int{{first, len(k.messages)}}, Tools: []struct{}{}, ToolChoice: "auto",
		Output: output{Model: model(tr, s), Choices: []choice{}, Usage: used(s.Metrics), Time: seconds},
	}
	if s.Source == "agent" {
		said := k.assistant(s, m.Model)
		m.Output.Choices, m.Output.Completion = []choice{{said, stopped(said)}}, s.Message
		m.Error, _ = s.Extra["error"].(string)
	} else {
		m.Error = s.Message
	}
	about := map[string]any{"conversation": tr.TrajectoryID, "sequence": s.Extra["sequence"], "replayed": s.Extra["replayed"] == true}
	at, _ := time.Parse(time.RFC3339, s.Timestamp)
	k.events = append(k.events, event{Event: "model", Timestamp: s.Timestamp, WorkingStart: max(0, at.Sub(k.started).Seconds()), Metadata: about, modelEvent: m})
}

func stopped(m *message) string {
	if len(m.ToolCalls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (k *talker) assistant(s *atif.Step, model string) *message {
	m := &message{ID: k.id(), Role: "assistant", Content: s.Message, Source: "generate", Model: model}
	if s.Reasoning != "" {
		m.Content = []content{{Type: "reasoning", Reasoning: s.Reasoning}, {Type: "text", Text: s.Message}}
	}
	for _, c := range s.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, toolCall{c.ID, c.Function, whole(c.Arguments), "function"})
	}
	return m
}

// whole replaces halves of surrogate pairs in arguments, which Python's strings
// accept and its validators reject.
func whole(arguments json.RawMessage) json.RawMessage {
	if !bytes.Contains(bytes.ToLower(arguments), []byte(`\ud`)) {
		return arguments
	}
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return json.RawMessage("{}")
	}
	text, _ := json.Marshal(v)
	return text
}

func (k *talker) observe(o *atif.Observation, functions map[string]string) {
	for _, r := range o.Results {
		m := &message{ID: k.id(), Role: "tool", Content: r.Content, CallID: r.CallID, Function: functions[r.CallID]}
		if r.Extra["is_error"] == true {
			m.Error = &toolError{"unknown", r.Content}
		}
		k.messages = append(k.messages, m)
	}
}

// talk enters the conversations of an attempt. The longest is the sample's.
func (s *sample) talk(tr *atif.Trajectory, started time.Time) {
	k := &talker{uuid: s.UUID, started: started}
	s.Messages = k.converse(tr)
	for _, sub := range tr.Subagents {
		k.converse(sub)
	}
	s.Pool, s.Turns = &pool{k.messages, []struct{}{}}, len(k.events)
	s.Events = append(s.Events, k.events...)
	if at := slices.IndexFunc(s.Messages, func(m *message) bool { return m.Role == "user" }); at >= 0 {
		s.Input, _ = s.Messages[at].Content.(string)
	}
	for _, m := range slices.Backward(s.Messages) {
		if m.Role == "assistant" {
			s.Output = output{Model: m.Model, Choices: []choice{{m, stopped(m)}}, Completion: text(m)}
			break
		}
	}
}

func text(m *message) string {
	if parts, ok := m.Content.([]content); ok {
		return parts[len(parts)-1].Text
	}
	s, _ := m.Content.(string)
	return s
}
