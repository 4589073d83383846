package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
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
			out.Parts = append(out.Parts, Part{Role: "system", Text: canonical(w.value(m, false))})
		}
	}
	turns, given := w.find(0, n.Turns)
	switch {
	case given && doc.nodes[turns].kind == array:
		for m := range doc.children(turns) {
			out.Parts = append(out.Parts, Part{Role: w.speaker(m), Text: canonical(w.value(m, false))})
		}
	case given:
		out.Parts = append(out.Parts, Part{Role: "user", Text: canonical(w.value(turns, false))})
	}
	out.Fixed = canonical(w.members(0, false, slices.Concat(n.Settings, n.Lead, []string{n.Turns})))
	return out, nil
}

type canonWriter struct {
	*check
	*canon
	ids map[string]string
}

// canonical encodes a value: members are sorted by name, and nothing is escaped for
// HTML.
func canonical(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it has texts, and values of a valid document
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (w *canonWriter) value(i int, free bool) any {
	switch w.nodes[i].kind {
	case object:
		return w.members(i, free, nil)
	case array:
		items := []any{}
		for item := range w.children(i) {
			items = append(items, w.value(item, free))
		}
		return items
	case text:
		return steady(w.text(i))
	}
	return json.RawMessage(w.bytes(i))
}

// members returns the members of an object. Their identifiers are numbered by name.
func (w *canonWriter) members(i int, free bool, without []string) map[string]any {
	at := map[string]int{}
	for m := range w.children(i) {
		name := w.name(m)
		if !free {
			name = w.key(m)
		}
		if w.nodes[m].kind != null && !slices.Contains(without, name) && (free || !slices.Contains(w.Drop, name)) {
			at[name] = m
		}
	}
	all := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if m := at[name]; !free && slices.Contains(w.Rename, name) && w.nodes[m].kind == text {
			all[name] = w.id(w.text(m))
		} else {
			all[name] = w.value(m, free || slices.Contains(w.Free, name))
		}
	}
	return all
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

// speakers are the usual names of speakers that some protocols call otherwise.
var speakers = map[string]string{"developer": "system", "function": "tool", "model": "assistant"}

// speaker returns who speaks in a message, an item of a response, or a prompt.
func (c *check) speaker(i int) string {
	for _, name := range []string{"content", "parts"} {
		blocks, ok := c.find(i, name)
		if !ok {
			continue
		}
		for block := range c.children(blocks) {
			if _, result := c.find(block, "functionResponse"); result || c.memberText(block, "type") == "tool_result" {
				return "tool"
			}
		}
	}
	role, kind := c.memberText(i, "role"), c.memberText(i, "type")
	switch {
	case role != "":
		return cmp.Or(speakers[role], role)
	case strings.HasSuffix(kind, "_output"):
		return "tool"
	case kind != "":
		return "assistant"
	}
	return "user"
}

// memberText returns the text of a member, or "" if there is none.
func (c *check) memberText(i int, name string) string {
	m, ok := c.find(i, name)
	if !ok {
		return ""
	}
	return c.text(m)
}
