package message

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// Message is one message of a conversation.
type Message struct {
	// Role is the speaker: system, user, assistant or tool.
	Role string `json:"role"`
	Text string `json:"text,omitempty"`
	// Reasoning is the visible part of a model's thoughts.
	Reasoning string   `json:"reasoning,omitempty"`
	Calls     []Call   `json:"calls,omitempty"`
	Results   []Result `json:"results,omitempty"`
	// Error is an error that a response reports instead of or after a message.
	Error string `json:"error,omitempty"`
}

// Call is a call of a tool. Arguments are JSON, or free text for tools that
// accept it.
type Call struct {
	ID        string `json:"id,omitempty"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// Result is the result of a tool call. ID identifies the call. Some dialects
// omit it.
type Result struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// draft is a message that is assembled from many pieces.
type draft struct {
	Message
	text, reasoning []byte
}

// line appends s on a new line, unless s or the text is empty.
func line(text []byte, s string) []byte {
	if s != "" && len(text) > 0 {
		text = append(text, '\n')
	}
	return append(text, s...)
}

// add appends the content of another message.
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

// IsZero reports whether the message is empty.
func (m Message) IsZero() bool {
	return m.Text == "" && m.Reasoning == "" && m.Error == "" && len(m.Calls) == 0 && len(m.Results) == 0
}

// Mark identifies a message and all messages before it. It ignores identifiers
// and the reasoning, which a history may omit.
type Mark [16]byte

// Mark returns the mark of the message after a message with the mark before.
func (m Message) Mark(before Mark) Mark { return m.digest().after(before) }

// after returns the mark of a message with this digest after a message with the
// mark before.
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
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is the text of a JSON Schema, or "" if the tool has none.
	Parameters string `json:"parameters,omitempty"`
}

// body is a JSON object with members of any type.
type body map[string]json.RawMessage

// decode returns the zero value for JSON of another type.
func decode[T any](raw []byte) (v T) {
	_ = json.Unmarshal(raw, &v)
	return v
}

func object(raw []byte) body { return decode[body](raw) }

// text returns the value of a string member, or "" otherwise.
func (b body) text(name string) string { return text(b[name]) }

func (b body) object(name string) body { return object(b[name]) }

func (b body) list(name string) []json.RawMessage { return list(b[name]) }

// has reports whether a member exists and is not null.
func (b body) has(name string) bool { return len(b[name]) > 0 && string(b[name]) != "null" }

func text(raw []byte) string { return decode[string](raw) }

func list(raw []byte) []json.RawMessage { return decode[[]json.RawMessage](raw) }

// compact removes the space from JSON. Other text is returned unchanged.
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
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), "\n")
}

// failure returns the error that a response reports, or "".
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

// valid replaces invalid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// values returns the elements of an array, or alternating names and values of
// an object, without decoding them. It returns nil if raw does not start with
// open or is malformed.
func values(raw []byte, open byte) (all [][]byte) {
	const ended = 1 // the kind of no token
	want, start := open, 0
	for t := jsontoken.New(raw); t.Next(); {
		switch {
		case t.Kind == jsontoken.Open || t.Depth <= 0 && t.Kind != want:
			return nil
		case t.Depth <= 0 && want == open:
			want = open + 2 // the ASCII codes of { and }, of [ and ] are 2 apart
		case t.Depth <= 0:
			want = ended
		case t.Depth > 1 || t.Kind == ',' || t.Kind == ':':
		case t.Kind == '{' || t.Kind == '[':
			start = t.Start
		default:
			if t.Kind != '}' && t.Kind != ']' {
				start = t.Start
			}
			all = append(all, raw[start:t.End])
		}
	}
	if want != ended {
		return nil
	}
	return all
}

// skimmed returns an object with undecoded members, or nil if raw is not one.
func skimmed(raw []byte) body {
	pairs := values(raw, '{')
	if len(pairs)%2 != 0 || pairs == nil {
		return nil
	}
	b := body{}
	for i := 0; i < len(pairs); i += 2 {
		b[text(pairs[i])] = pairs[i+1]
	}
	return b
}
