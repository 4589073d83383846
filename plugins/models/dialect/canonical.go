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
	// Drop are members that do not affect the model's task. They are dropped at
	// any depth. Rename are identifiers, which are numbered in order of
	// appearance. Free are members with the agent's own content, in which
	// nothing is dropped or renamed.
	Drop   []string `json:"drop"`
	Rename []string `json:"rename"`
	Free   []string `json:"free"`
	// Settings are members of the body that are dropped. Lead are members that
	// begin the conversation, such as a system prompt. Turns is the member that
	// holds the messages.
	Settings []string `json:"settings"`
	Lead     []string `json:"lead"`
	Turns    string   `json:"turns"`
	// Role is the name of one of roles. Without it, the user speaks.
	Role string `json:"role"`
}

// Canonical implements Dialect.
func (d *protocol) Canonical(operation string, body []byte) (Canonical, error) {
	n := ofOperation(d.Canons, Operation(operation))
	doc, err := parse(body)
	if err != nil {
		return Canonical{}, badRequest("the body cannot be read as JSON: %v", err)
	}
	w := &canonWriter{check: &check{document: doc, camel: d.Camel}, canon: n, ids: map[string]string{}}
	if doc.nodes[0].kind != object {
		return Canonical{}, w.bad("no object")
	}
	var out Canonical
	for _, name := range n.Lead {
		if m, ok := w.find(0, name); ok {
			out.Parts = append(out.Parts, Part{Role: "system", Text: w.text(m)})
		}
	}
	turns, given := w.find(0, n.Turns)
	switch {
	case given && doc.nodes[turns].kind == array:
		for m := range doc.children(turns) {
			out.Parts = append(out.Parts, Part{Role: roles[n.Role](w.check, m), Text: w.text(m)})
		}
	case given:
		out.Parts = append(out.Parts, Part{Role: "user", Text: w.text(turns)})
	}
	out.Fixed = w.object(0, slices.Concat(n.Settings, n.Lead, []string{n.Turns}))
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
		if w.nodes[m].kind == null || slices.Contains(without, name) || !free && slices.Contains(w.Drop, name) {
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
		if !free && slices.Contains(w.Rename, m.name) && w.nodes[m.at].kind == text {
			w.out.WriteString(jsontoken.Quote(w.id(w.document.text(m.at))))
			continue
		}
		w.write(m.at, free || slices.Contains(w.Free, m.name))
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

// roles return the speaker of a message, by the names in the tables.
var roles = map[string]func(c *check, i int) string{
	"": func(*check, int) string { return "user" },
	"chat": func(c *check, i int) string {
		switch r := c.memberText(i, "role"); r {
		case "developer":
			return "system"
		case "function":
			return "tool"
		default:
			return r
		}
	},
	"item": func(c *check, i int) string {
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
	"message": func(c *check, i int) string {
		if content, ok := c.find(i, "content"); ok {
			for block := range c.children(content) {
				if c.memberText(block, "type") == "tool_result" {
					return "tool"
				}
			}
		}
		return c.memberText(i, "role")
	},
	"content": func(c *check, i int) string {
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
