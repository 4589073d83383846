package judge

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

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
