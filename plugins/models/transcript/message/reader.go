package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"strings"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// mostRemembered bounds the bytes that a Reader remembers.
const mostRemembered = 16 << 20

// Reader reads the requests of a transcript. Each request repeats most of the
// previous one, so the reader caches the messages of its parts. It is not safe
// for concurrent use.
type Reader struct {
	seed  maphash.Seed
	said  map[uint64][]Said
	tools map[uint64][]Tool
	size  int
}

// Said is a message of a request with its digest for Mark.
type Said struct {
	Message
	sum Mark
}

// Mark returns the mark of the message after a message with the mark before.
func (s Said) Mark(before Mark) Mark { return s.sum.after(before) }

// NewReader returns an empty Reader.
func NewReader() *Reader {
	return &Reader{seed: maphash.MakeSeed(), said: map[uint64][]Said{}, tools: map[uint64][]Tool{}}
}

// Request returns the messages of a request and the tools that it offers.
func (r *Reader) Request(provider string, _ dialect.Operation, raw []byte) ([]Said, []Tool) {
	b := skimmed(raw)
	return r.messages(provider, b), r.offered(b)
}

func (r *Reader) messages(provider string, b body) []Said {
	switch {
	case provider == "anthropic":
		return r.all(anthropicHead(b), b["messages"], provider, anthropicMessage)
	case provider == "gemini":
		said := r.all(geminiHead(b), b["contents"], provider, geminiMessage)
		if b.has("content") {
			said = r.all(said, []byte("["+string(b["content"])+"]"), provider, geminiMessage)
		}
		return said
	case b.has("messages"):
		return r.all(nil, b["messages"], "chat", chatMessages)
	}
	var said []Said
	if s := b.text("instructions"); s != "" {
		said = saying(Message{Role: "system", Text: s})
	}
	for _, name := range []string{"input", "prompt"} {
		if s := b.text(name); s != "" {
			said = append(said, saying(Message{Role: "user", Text: s})...)
		}
		said = r.all(said, b[name], "responses", itemOrText)
	}
	return follow(said)
}

// saying returns messages with digests. Their texts are valid UTF-8.
func saying(all ...Message) []Said {
	out := make([]Said, len(all))
	for i, m := range all {
		m = (&draft{Message: m, text: []byte(m.Text), reasoning: []byte(m.Reasoning)}).message()
		out[i] = Said{m, m.digest()}
	}
	return out
}

// all appends the messages of the elements of an array.
func (r *Reader) all(said []Said, array json.RawMessage, kind string, read func(body, []byte) []Message) []Said {
	for _, raw := range values(array, '[') {
		said = append(said, remembered(r, r.said, kind, raw, func() []Said { return saying(read(object(raw), raw)...) })...)
	}
	return said
}

// offered returns the tools of a request.
func (r *Reader) offered(b body) []Tool {
	return remembered(r, r.tools, "tools", b["tools"], func() []Tool { return tools(b.list("tools")) })
}

// remembered returns what was read of a text of a kind, or reads it now.
func remembered[T any](r *Reader, known map[uint64]T, kind string, raw []byte, read func() T) T {
	key := maphash.String(r.seed, kind) ^ maphash.Bytes(r.seed, raw)
	found, ok := known[key]
	if !ok {
		found = read()
		r.remember(len(raw))
		known[key] = found
	}
	return found
}

// remember makes space for an entry of this size.
func (r *Reader) remember(size int) {
	if r.size += size + 64; r.size > mostRemembered {
		clear(r.said)
		clear(r.tools)
		r.size = size
	}
}

// Response returns a model's answer from a whole or streamed response.
func Response(provider string, _ dialect.Operation, raw []byte) Message {
	d := &draft{Message: Message{Role: "assistant"}}
	switch events := stream(raw); provider {
	case "anthropic":
		anthropicResponse(d, events)
	case "gemini":
		geminiResponse(d, events)
	default:
		openAIResponse(d, events)
	}
	return d.message()
}

// stream returns the JSON values of a response: a single object, the elements
// of an array, or the data of server-sent events.
func stream(raw []byte) []body {
	trimmed := bytes.TrimSpace(raw)
	switch {
	case bytes.HasPrefix(trimmed, []byte("{")):
		return []body{object(trimmed)}
	case bytes.HasPrefix(trimmed, []byte("[")):
		return decode[[]body](trimmed)
	}
	var all []body
	dialect.EachEvent(raw, func(data []byte) {
		if b := object(data); b != nil {
			all = append(all, b)
		}
	})
	return all
}

// parts reads content that is a string or a list of typed parts. Parts without a text are named by
// their types in brackets.
func parts(raw []byte) string {
	if s := text(raw); s != "" {
		return s
	}
	var said []string
	for _, r := range list(raw) {
		p := object(r)
		switch {
		case p == nil:
			said = append(said, text(r))
		case p.has("text"):
			said = append(said, p.text("text"))
		case p.has("refusal"):
			said = append(said, p.text("refusal"))
		case p.text("type") != "":
			said = append(said, "["+strings.ToValidUTF8(p.text("type"), "")+"]")
		}
	}
	return join(said...)
}

// tools reads the tools that a request offers: functions, alone or in lists of declarations, and
// those of the provider, which are named by their types.
func tools(list []json.RawMessage) (all []Tool) {
	for _, raw := range list {
		t := object(raw)
		if t.has("function") {
			t = t.object("function")
		}
		for _, name := range []string{"functionDeclarations", "function_declarations"} {
			all = append(all, tools(t.list(name))...)
		}
		if name := cmp.Or(t.text("name"), t.text("type")); name != "" {
			schema := cmp.Or(string(t["parametersJsonSchema"]), string(t["input_schema"]), string(t["parameters"]))
			all = append(all, Tool{name, t.text("description"), schema})
		}
	}
	return all
}

// speaker maps a dialect's role to one of the roles of Message.
func speaker(role string) string {
	switch role {
	case "system", "developer":
		return "system"
	case "assistant", "model":
		return "assistant"
	case "tool", "function":
		return "tool"
	}
	return "user"
}
