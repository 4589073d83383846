package message

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Message is something that was said.
type Message struct {
	// Role is who speaks: system, user, assistant or tool.
	Role string `json:"role"`
	Text string `json:"text,omitempty"`
	// Reasoning is what a model shows of its thoughts.
	Reasoning string   `json:"reasoning,omitempty"`
	Calls     []Call   `json:"calls,omitempty"`
	Results   []Result `json:"results,omitempty"`
	// Error is what a response reports in place of, or after, a message.
	Error string `json:"error,omitempty"`
}

// Call is a call of a tool. Arguments are JSON, or the free text of tools that
// take one.
type Call struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// Result is what a tool returned to the call of this ID, which some dialects
// leave out.
type Result struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// draft is a message that is put together of many pieces.
type draft struct {
	Message
	text, reasoning []byte
}

// line appends a line to a text, unless it is empty.
func line(text []byte, s string) []byte {
	if s != "" && len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, s...)
}

// add appends a message of the same role.
func (d *draft) add(m Message) {
	d.text, d.reasoning = line(d.text, m.Text), line(d.reasoning, m.Reasoning)
	d.Calls = append(d.Calls, m.Calls...)
	d.Results = append(d.Results, m.Results...)
}

// message returns the assembled message.
func (d *draft) message() Message {
	d.Text, d.Reasoning = valid(string(d.text)), valid(string(d.reasoning))
	d.Error = valid(d.Error)
	for i, c := range d.Calls {
		d.Calls[i] = Call{valid(c.ID), valid(c.Name), valid(c.Arguments)}
	}
	for i, r := range d.Results {
		d.Results[i] = Result{valid(r.ID), valid(r.Name), valid(r.Text), r.Failed}
	}
	return d.Message
}

// IsZero reports whether nothing was said.
func (m Message) IsZero() bool {
	return m.Text == "" && m.Reasoning == "" && m.Error == "" && len(m.Calls) == 0 && len(m.Results) == 0
}

// Mark identifies what was said, without the reasoning, which a history may leave
// out, and identifiers.
type Mark [16]byte

// Mark returns the mark of the message as the next after before.
func (m Message) Mark(before Mark) Mark { return m.digest().after(before) }

// after is the mark of a message of this digest as the next after before.
func (m Mark) after(before Mark) Mark {
	sum := sha256.Sum256(append(before[:], m[:]...))
	return Mark(sum[:16])
}

// digest returns the digest of the message's content.
func (m Message) digest() Mark {
	h := sha256.New()
	put := func(fields ...string) {
		for _, f := range fields {
			h.Write([]byte(f))
			h.Write([]byte{0})
		}
	}
	put(m.Role, m.Text)
	for _, c := range m.Calls {
		put("call", c.Name, c.Arguments)
	}
	for _, r := range m.Results {
		put("result", r.Text)
	}
	return Mark(h.Sum(nil)[:16])
}

// Tool is a tool that a request offers to the model.
type Tool struct {
	Name, Description string
	// Parameters are a JSON schema, if it has one.
	Parameters json.RawMessage
}

// body is an object whose members may be anything.
type body map[string]json.RawMessage

func object(raw []byte) body {
	var b body
	_ = json.Unmarshal(raw, &b)
	return b
}

// text is a member that is a string, "" otherwise.
func (b body) text(name string) string { return text(b[name]) }

func (b body) object(name string) body { return object(b[name]) }

func (b body) list(name string) []json.RawMessage { return list(b[name]) }

// has reports whether a member is there and not null.
func (b body) has(name string) bool { return len(b[name]) > 0 && string(b[name]) != "null" }

func text(raw []byte) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func list(raw []byte) []json.RawMessage {
	var l []json.RawMessage
	_ = json.Unmarshal(raw, &l)
	return l
}

// compact is JSON without space, or the text itself if it is none.
func compact(raw []byte) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// join joins the non-empty texts by line ends.
func join(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n")
}

// failure is the error that a response reports.
func failure(b body) string {
	if !b.has("error") {
		return ""
	}
	e := b.object("error")
	kind, text := e.text("type")+e.text("status"), e.text("message")
	switch {
	case kind != "" && text != "":
		return kind + ": " + text
	case kind+text != "":
		return kind + text
	}
	return valid(compact(b["error"]))
}

// valid makes a text valid UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
