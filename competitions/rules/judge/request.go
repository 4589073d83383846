package judge

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// rules of the review, which every request begins with. %s is the mark.
//
//go:embed instructions.txt
var instructions string

// Request is the request to a model.
type Request struct {
	// System are the instructions, User is the material.
	System, User string
	// Schema is the schema of the answers.
	Schema json.RawMessage
}

// Request returns the request about the material.
func (p *Profile) Request(m *Material) Request {
	mark := m.mark()
	var questions, user strings.Builder
	for _, q := range p.Questions {
		fmt.Fprintf(&questions, "- %s: %s\n", q.Name, q.Text)
	}
	for _, part := range m.parts {
		fmt.Fprintf(&user, "%s begin %s\n%s\n%s end\n", mark, part.name, part.shown, mark)
	}
	if len(m.parts) == 0 {
		fmt.Fprintf(&user, "%s There is no material.\n", mark)
	}
	return Request{System: fmt.Sprintf(instructions, mark, questions.String()), User: user.String(), Schema: p.schema()}
}

// Digest identifies the request without the material.
func (p *Profile) Digest() digest.ContentID {
	empty := p.Request(&Material{})
	return digest.Of([]byte(empty.System + "\n" + empty.User + "\n" + string(empty.Schema)))
}

// mark begins the lines between parts. It is a digest of the material, so the
// author of the material cannot have written the mark into it.
func (m *Material) mark() string {
	h := sha256.New()
	for _, p := range m.parts {
		fmt.Fprintf(h, "%d %d %s%s", len(p.name), len(p.shown), p.name, p.shown)
	}
	return "=== " + hex.EncodeToString(h.Sum(nil)[:16])
}

// schema is the JSON schema of the answers, in the part of the language that
// all providers take.
func (p *Profile) schema() json.RawMessage {
	var names []string
	for _, q := range p.Questions {
		names = append(names, q.Name)
	}
	type object = map[string]any
	properties := func(of object, order ...string) object {
		return object{"type": "object", "properties": of, "required": order, "additionalProperties": false}
	}
	text := object{"type": "string"}
	list := func(of object) object { return object{"type": "array", "items": of} }
	data, _ := json.Marshal(properties(object{"answers": list(properties(object{ // it is of strings
		"question":   object{"type": "string", "enum": names},
		"answer":     object{"type": "string", "enum": []string{"yes", "no"}},
		"reason":     text,
		"quotations": list(properties(object{"path": text, "text": text}, "path", "text")),
	}, "question", "answer", "reason", "quotations"))}, "answers"))
	return data
}
