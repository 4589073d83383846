package dialect

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// canon describes how a dialect's requests are made canonical.
type canon struct {
	// drop are members that do not affect the model's task. They are dropped at
	// any depth. rename are identifiers, which are numbered in order of
	// appearance. free are members with the agent's own content, in which
	// nothing is dropped or renamed.
	drop, rename, free []string
	// settings are members of the body that are dropped. lead are members that
	// begin the conversation, such as a system prompt. turns is the member that
	// holds the messages.
	settings, lead []string
	turns          string
	// role returns the speaker of a message. If it is nil, the user speaks.
	role func(c *check, i int) string
	// camel has the meaning of rules.camel.
	camel bool
}

// split makes a body canonical.
func (n *canon) split(body []byte) (Canonical, error) {
	doc, err := parse(body)
	if err != nil {
		return Canonical{}, badRequest("the body cannot be read as JSON: %v", err)
	}
	w := &canonWriter{check: &check{document: doc, camel: n.camel}, canon: n, ids: map[string]string{}}
	if doc.nodes[0].kind != object {
		return Canonical{}, w.bad("no object")
	}
	var out Canonical
	for _, name := range n.lead {
		if m, ok := w.find(0, name); ok {
			out.Parts = append(out.Parts, Part{Role: "system", Text: w.text(m)})
		}
	}
	turns, given := w.find(0, n.turns)
	switch {
	case given && doc.nodes[turns].kind == array:
		for m := range doc.children(turns) {
			role := "user"
			if n.role != nil {
				role = n.role(w.check, m)
			}
			out.Parts = append(out.Parts, Part{Role: role, Text: w.text(m)})
		}
	case given:
		out.Parts = append(out.Parts, Part{Role: "user", Text: w.text(turns)})
	}
	out.Fixed = w.object(0, slices.Concat(n.settings, n.lead, []string{n.turns}))
	return out, nil
}

type canonWriter struct {
	*check
	*canon
	ids map[string]string
	out bytes.Buffer
}

// text returns the canonical form of a value.
func (w *canonWriter) text(i int) []byte {
	w.out.Reset()
	w.write(i, false)
	return slices.Clone(w.out.Bytes())
}

// object returns the canonical form of an object without the named members.
func (w *canonWriter) object(i int, without []string) []byte {
	w.out.Reset()
	w.members(i, false, without)
	return slices.Clone(w.out.Bytes())
}

func (w *canonWriter) write(i int, free bool) {
	switch w.nodes[i].kind {
	case object:
		w.members(i, free, nil)
	case array:
		w.out.WriteByte('[')
		first := true
		for item := range w.children(i) {
			if !first {
				w.out.WriteByte(',')
			}
			first = false
			w.write(item, free)
		}
		w.out.WriteByte(']')
	case text:
		w.out.WriteString(jsontoken.Quote(steady(w.document.text(i))))
	default:
		w.out.Write(w.bytes(i))
	}
}

// members writes the members of an object, sorted by name.
func (w *canonWriter) members(i int, free bool, without []string) {
	type member struct {
		name string
		at   int
	}
	var all []member
	for m := range w.children(i) {
		name := w.name(m)
		if !free {
			name = w.key(m)
		}
		if w.nodes[m].kind == null || slices.Contains(without, name) || !free && slices.Contains(w.drop, name) {
			continue
		}
		all = append(all, member{name, m})
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	w.out.WriteByte('{')
	for n, m := range all {
		if n > 0 {
			w.out.WriteByte(',')
		}
		w.out.WriteString(jsontoken.Quote(m.name))
		w.out.WriteByte(':')
		if !free && slices.Contains(w.rename, m.name) && w.nodes[m.at].kind == text {
			w.out.WriteString(jsontoken.Quote(w.id(w.document.text(m.at))))
			continue
		}
		w.write(m.at, free || slices.Contains(w.free, m.name))
	}
	w.out.WriteByte('}')
}

// id numbers an identifier by its first appearance.
func (w *canonWriter) id(raw string) string {
	name, ok := w.ids[raw]
	if !ok {
		name = "id-" + strconv.Itoa(len(w.ids)+1)
		w.ids[raw] = name
	}
	return name
}

// checksum matches the checksum that Claude Code writes into the first line of
// each request. Times, identifiers and the like are kept. A Player ignores them
// only if it finds no exact match, and it reports that.
var checksum = pattern.New(`\bcch=[0-9a-f]+`)

// steady removes the checksum from a text.
func steady(s string) string {
	if !strings.Contains(s, "cch=") {
		return s
	}
	return checksum.Regexp().ReplaceAllString(s, "cch=…")
}

// openAICaller are settings about the caller, the cache and the stream.
var openAICaller = []string{
	"user", "safety_identifier", "metadata", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "stream_options", "store", "service_tier",
	"request_id", "rid", "session_id", "user_id", "trace", "trace_id", "litellm_session_id", "litellm_trace_id", "litellm_call_id", "cache_salt", "usage",
}

var openAIChatCanon = &canon{
	drop: []string{"cache_control", "prompt_cache_breakpoint", "extra_content"}, rename: []string{"id", "tool_call_id"},
	free:     []string{"parameters", "schema"},
	settings: openAICaller,
	turns:    "messages",
	role: func(c *check, i int) string {
		switch r := c.memberText(i, "role"); r {
		case "developer":
			return "system"
		case "function":
			return "tool"
		default:
			return r
		}
	},
}

var openAIResponsesCanon = &canon{
	drop: []string{"id", "encrypted_content", "status", "prompt_cache_breakpoint", codexMetadata}, rename: []string{"call_id"},
	free:     []string{"parameters", "schema"},
	settings: append([]string{"client_metadata", "include"}, openAICaller...),
	lead:     []string{"instructions"},
	turns:    "input",
	role: func(c *check, i int) string {
		kind, role := c.memberText(i, "type"), c.memberText(i, "role")
		switch {
		case role == "developer":
			return "system"
		case role != "":
			return role
		case strings.HasSuffix(kind, "_output"):
			return "tool"
		}
		return "assistant"
	},
}

var openAIPlainCanon = &canon{settings: []string{"user", "stream_options"}, turns: "input"}

var anthropicCanon = &canon{
	drop: []string{"cache_control", "signature", "citations"}, rename: []string{"id", "tool_use_id"},
	free:     []string{"input", "input_schema", "input_examples"},
	settings: []string{"metadata", "service_tier", "diagnostics"},
	lead:     []string{"system"},
	turns:    "messages",
	role: func(c *check, i int) string {
		if content, ok := c.find(i, "content"); ok {
			for block := range c.children(content) {
				if c.memberText(block, "type") == "tool_result" {
					return "tool"
				}
			}
		}
		return c.memberText(i, "role")
	},
}

var geminiCanon = &canon{
	drop: []string{"thoughtSignature"}, rename: []string{"id"},
	free:     []string{"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"},
	settings: []string{"labels", "store", "serviceTier"},
	lead:     []string{"systemInstruction"},
	turns:    "contents",
	camel:    true,
	role: func(c *check, i int) string {
		if parts, ok := c.find(i, "parts"); ok {
			for part := range c.children(parts) {
				if _, ok := c.find(part, "functionResponse"); ok {
					return "tool"
				}
			}
		}
		if r := c.memberText(i, "role"); r != "model" {
			return r
		}
		return "assistant"
	},
}

// memberText returns the text of a member, or "" if there is none.
func (c *check) memberText(i int, name string) string {
	m, ok := c.find(i, name)
	if !ok {
		return ""
	}
	return c.text(m)
}

// Canonical implements Dialect.
func (*openAI) Canonical(operation string, body []byte) (Canonical, error) {
	switch Operation(operation) {
	case ChatCompletions:
		return openAIChatCanon.split(body)
	case Responses, ResponseTokens, Compact:
		return openAIResponsesCanon.split(body)
	case Completions:
		n := *openAIPlainCanon
		n.turns = "prompt"
		return n.split(body)
	}
	return openAIPlainCanon.split(body)
}

// Canonical implements Dialect.
func (*anthropic) Canonical(_ string, body []byte) (Canonical, error) {
	return anthropicCanon.split(body)
}

// Canonical implements Dialect.
func (*gemini) Canonical(operation string, body []byte) (Canonical, error) {
	n := *geminiCanon
	switch Operation(operation) {
	case EmbedContent:
		n.turns = "content"
	case BatchEmbedContents:
		n.turns = "requests"
	}
	return n.split(body)
}
