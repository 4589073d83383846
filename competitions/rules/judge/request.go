package judge

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
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
	names := lists.Of(p.Questions, func(q Question) string { return q.Name })
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

// To is whom a request is for.
type To struct {
	// Provider is the name of a dialect, Model that of the model.
	Provider, Model string
	// Output is the most tokens of the answer.
	Output int64
}

// answerTool is the tool by which Anthropic's models give JSON.
const answerTool = "answer"

// Body is the request in the provider's dialect, with the path that it is for.
// Equal requests are equal bytes.
func (r Request) Body(to To) (path string, body []byte, err error) {
	type object = map[string]any
	var o object
	switch to.Provider {
	case "anthropic":
		path = "/v1/messages"
		o = object{
			"model": to.Model, "max_tokens": to.Output, "system": r.System, "messages": []object{{"role": "user", "content": r.User}},
			"tools":       []object{{"name": answerTool, "description": "Takes the answers to all questions.", "input_schema": r.Schema}},
			"tool_choice": object{"type": "tool", "name": answerTool},
		}
	case "gemini":
		path = "/v1beta/models/" + url.PathEscape(to.Model) + ":generateContent"
		o = object{
			"systemInstruction": object{"parts": []object{{"text": r.System}}}, "contents": []object{{"role": "user", "parts": []object{{"text": r.User}}}},
			"generationConfig": object{"maxOutputTokens": to.Output, "responseMimeType": "application/json", "responseJsonSchema": r.Schema},
		}
	case "openai":
		path = "/v1/chat/completions"
		o = object{
			"model": to.Model, "max_completion_tokens": to.Output, "messages": []object{{"role": "system", "content": r.System}, {"role": "user", "content": r.User}},
			"response_format": object{"type": "json_schema", "json_schema": object{"name": answerTool, "strict": true, "schema": r.Schema}},
		}
	default:
		return "", nil, fmt.Errorf("no request is known for the provider %q", to.Provider)
	}
	body, err = json.Marshal(o)
	return path, body, err
}

// AnswerOf is the text of a response in the provider's dialect: JSON, if the model
// kept to the schema.
func AnswerOf(provider string, response []byte) (string, error) {
	said := message.Response(provider, dialect.Operation(""), response)
	if said.Error != "" {
		return "", fmt.Errorf("the response is an error: %s", short(oneLine(said.Error), mostReason))
	}
	for _, c := range said.Calls {
		if c.Name == answerTool {
			return c.Arguments, nil
		}
	}
	if strings.TrimSpace(said.Text) == "" {
		return "", fmt.Errorf("the response has no text: %s", short(oneLine(string(response)), 300))
	}
	return said.Text, nil
}
