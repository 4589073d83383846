package message

import (
	"encoding/json"
	"hash/maphash"

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
		key := r.key(kind, raw)
		found, ok := r.said[key]
		if !ok {
			found = saying(read(object(raw), raw)...)
			r.remember(len(raw))
			r.said[key] = found
		}
		said = append(said, found...)
	}
	return said
}

// offered returns the tools of a request.
func (r *Reader) offered(b body) []Tool {
	raw := b["tools"]
	key := r.key("tools", raw)
	found, ok := r.tools[key]
	if !ok {
		found = tools(list(raw))
		r.remember(len(raw))
		r.tools[key] = found
	}
	return found
}

func (r *Reader) key(kind string, raw []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	_, _ = h.WriteString(kind)
	_ = h.WriteByte(0)
	_, _ = h.Write(raw)
	return h.Sum64()
}

// remember makes space for an entry of this size.
func (r *Reader) remember(size int) {
	if r.size += size + 64; r.size > mostRemembered {
		clear(r.said)
		clear(r.tools)
		r.size = size
	}
}
