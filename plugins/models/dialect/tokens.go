package dialect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/jsontoken"
)

// Tokens are the token ids and log-probabilities of a response.
type Tokens struct {
	// Prompt are the ids of the prompt. Choices are what was sampled, by the index of the
	// choice.
	Prompt  []uint32
	Choices []Sample
	// Problem says why ids are missing or do not count, or is empty.
	Problem string
}

// Sample is what was sampled for a choice.
type Sample struct {
	IDs []uint32
	// Logprobs has a log-probability for each id, NaN where the server reports null, or is
	// empty.
	Logprobs []float64
}

// TokenServers returns the kinds of servers of a provider that can be asked for token ids or
// log-probabilities.
func TokenServers(provider string) []string {
	if d, ok := Named(provider).(*protocol); ok {
		return slices.Sorted(maps.Keys(d.Tokens))
	}
	return nil
}

// TokenAsk is what a request asks of a server beyond what its client asked for.
type TokenAsk struct {
	// Without is the body without it, for a server that refuses it. Refused is the status
	// with which one did.
	Without []byte
	Refused int
	// added are the names of the members.
	added map[string]bool
	// ids means that the server reports ids. nulls means that it writes null for what it
	// was not asked for, where others leave the member out.
	ids, nulls bool
}

// askTokens asks a kind of server for token ids and log-probabilities, by the members of ask,
// unless the client does.
func (c *check) askTokens(r *Request, server string, ask map[string]json.RawMessage) {
	if len(ask) == 0 {
		return
	}
	r.Tokens = &TokenAsk{Without: r.Body, added: map[string]bool{}, ids: len(ask) > 1, nulls: server == "vllm"}
	for _, name := range slices.Sorted(maps.Keys(ask)) {
		switch at := c.member(0, name); {
		case at == 0:
			c.insert(0, jsontoken.Quote(name)+":"+string(ask[name]))
		case string(c.bytes(at)) == "null" || string(c.bytes(at)) == "false":
			c.put(at, string(ask[name]))
		default:
			continue
		}
		r.Tokens.added[name] = true
		r.Changed = append(r.Changed, name)
	}
	r.Body = splice(c.raw, c.edits)
}

// Bounds of what is kept of a response.
const (
	maxHeld    = 64 << 20 // of a response or an event until it is complete
	maxIDs     = 1 << 22
	maxChoices = 128
)

// TokenReader reads a response as the client of its request asked for it, without what
// only the gateway asked for, which it keeps. A stream passes event by event, any other
// response as a whole.
type TokenReader struct {
	ask    *TokenAsk
	from   io.Reader
	stream bool
	// plain means that the rest passes as it is.
	plain bool
	// in was read, of which the first seen bytes have no end of an event. out is what the
	// client gets next, and err what comes after.
	in, out []byte
	seen    int
	err     error
	tokens  Tokens
	ids     int
	buf     [32 << 10]byte
}

// Read returns the reader of a response. stream means that it consists of events, and
// encoded that it has a content encoding, which is not decoded.
func (t *TokenAsk) Read(from io.Reader, stream, encoded bool) *TokenReader {
	r := &TokenReader{ask: t, from: from, stream: stream}
	switch {
	case t.Refused > 0:
		r.skip(fmt.Sprintf("the server refused to report them, with status %d", t.Refused))
	case encoded:
		r.skip("the response has a content encoding that the request did not accept")
	}
	return r
}

// skip passes the rest of the response as it is.
func (r *TokenReader) skip(problem string) {
	r.plain = true
	r.problem(problem)
}

// problem notes the first problem.
func (r *TokenReader) problem(text string) {
	r.tokens.Problem = cmp.Or(r.tokens.Problem, text)
}

// Read implements io.Reader.
func (r *TokenReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 && r.err == nil {
		n, err := r.from.Read(r.buf[:])
		r.in, r.err = append(r.in, r.buf[:n]...), err
		r.advance()
	}
	if len(r.out) == 0 {
		return 0, r.err
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// advance passes on what is complete.
func (r *TokenReader) advance() {
	for r.stream && !r.plain {
		end := eventEnd(r.in, r.seen)
		if end < 0 {
			r.seen = max(0, len(r.in)-3)
			break
		}
		r.out, r.in, r.seen = append(r.out, r.event(r.in[:end])...), r.in[end:], 0
	}
	if len(r.in) > maxHeld {
		r.skip(fmt.Sprintf("the response has more than %d bytes in one piece", maxHeld))
	}
	switch {
	case r.plain, r.err != nil && (r.stream || r.err != io.EOF): //nolint:errorlint // readers return it as it is
		r.out, r.in = append(r.out, r.in...), nil
	case r.err != nil:
		text, _ := r.document(r.in)
		r.out, r.in = append(r.out, text...), nil
	}
}

// eventEnd returns the end of the first event of a stream, or -1. It begins to look at a
// position.
func eventEnd(text []byte, from int) int {
	end := -1
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		if at := bytes.Index(text[from:], []byte(blank)); at >= 0 && (end < 0 || from+at+len(blank) < end) {
			end = from + at + len(blank)
		}
	}
	return end
}

// event returns an event as the client asked for it. One with several lines of data is not
// changed.
func (r *TokenReader) event(text []byte) []byte {
	start := -1
	for at := 0; at < len(text); {
		end := len(text)
		if n := bytes.IndexAny(text[at:], "\r\n"); n >= 0 {
			end = at + n + 1
		}
		if bytes.HasPrefix(text[at:], []byte("data:")) {
			if start >= 0 {
				return text
			}
			start = at + len("data:")
		}
		at = end
	}
	if start < 0 {
		return text
	}
	end := start + max(0, bytes.IndexAny(text[start:], "\r\n"))
	edited, drop := r.document(text[start:end])
	if drop {
		return nil
	}
	return slices.Concat(text[:start], edited, text[end:])
}

// tokenDocument is what a response or an event says of tokens.
type tokenDocument struct {
	Prompt  []uint32 `json:"prompt_token_ids"`
	Choices []struct {
		Index    int      `json:"index"`
		Prompt   []uint32 `json:"prompt_token_ids"`
		IDs      []uint32 `json:"token_ids"`
		Logprobs *struct {
			Content []struct {
				Logprob *float64 `json:"logprob"`
			} `json:"content"`
			Completion []*float64 `json:"token_logprobs"`
		} `json:"logprobs"`
		Delta  map[string]json.RawMessage `json:"delta"`
		Finish *string                    `json:"finish_reason"`
	} `json:"choices"`
	Extension map[string]json.RawMessage `json:"sglext"`
	Usage     *struct{}                  `json:"usage"`
}

// document keeps what a response or an event says of tokens, and returns it as the client
// asked for it. drop means that only the gateway asked for the event.
func (r *TokenReader) document(text []byte) (edited []byte, drop bool) {
	if !bytes.Contains(text, []byte("token_ids")) && !bytes.Contains(text, []byte("logprobs")) && !bytes.Contains(text, []byte("sglext")) {
		return text, false
	}
	var d tokenDocument
	if err := json.Unmarshal(text, &d); err != nil {
		r.problem(fmt.Sprintf("they cannot be read: %.200v", err))
	} else {
		r.keep(&d)
	}
	ours := len(d.Extension) > 0
	for name := range d.Extension {
		ours = ours && r.ask.unasked("sglext", name)
	}
	edits := r.ask.edits(text, ours)
	drop = r.stream && len(edits) > 0 && (len(d.Choices) > 0 || ours && d.Usage == nil)
	for _, c := range d.Choices {
		asked := c.IDs != nil && !r.ask.unasked("choices", "token_ids") || c.Logprobs != nil && !r.ask.unasked("choices", "logprobs")
		drop = drop && !asked && c.Delta != nil && len(c.Delta) == 0 && c.Finish == nil
	}
	return splice(text, edits), drop
}

// keep appends what a response or an event says of tokens.
func (r *TokenReader) keep(d *tokenDocument) {
	var input []uint32
	var output [][]uint32
	if json.Unmarshal(orNull(d.Extension["input_ids"]), &input) != nil || json.Unmarshal(orNull(d.Extension["output_ids"]), &output) != nil {
		r.problem("the ids in sglext cannot be read")
	}
	r.prompt(d.Prompt)
	r.prompt(input)
	for i, ids := range output {
		r.sampled(i, ids, nil)
	}
	for _, c := range d.Choices {
		var logprobs []*float64
		if c.Logprobs != nil {
			logprobs = c.Logprobs.Completion
			for _, token := range c.Logprobs.Content {
				logprobs = append(logprobs, token.Logprob)
			}
		}
		r.prompt(c.Prompt)
		r.sampled(c.Index, c.IDs, logprobs)
	}
}

// orNull returns a value, or null for none.
func orNull(value json.RawMessage) []byte {
	if value == nil {
		return []byte("null")
	}
	return value
}

// prompt keeps the ids of the prompt, which servers repeat for each choice.
func (r *TokenReader) prompt(ids []uint32) {
	switch t := &r.tokens; {
	case len(ids) == 0:
	case len(t.Prompt) > 0 && !slices.Equal(t.Prompt, ids):
		r.problem("the choices have different prompts")
	case r.room(len(ids)):
		t.Prompt = ids
	}
}

// sampled appends to a choice.
func (r *TokenReader) sampled(index int, ids []uint32, logprobs []*float64) {
	if index < 0 || index >= maxChoices {
		r.problem(fmt.Sprintf("there is a choice %d", index))
		return
	}
	if len(ids)+len(logprobs) == 0 || !r.room(len(ids)+len(logprobs)) {
		return
	}
	for len(r.tokens.Choices) <= index {
		r.tokens.Choices = append(r.tokens.Choices, Sample{})
	}
	c := &r.tokens.Choices[index]
	c.IDs = append(c.IDs, ids...)
	for _, p := range logprobs {
		value := math.NaN()
		if p != nil {
			value = *p
		}
		c.Logprobs = append(c.Logprobs, value)
	}
}

// room counts ids and log-probabilities, and reports whether they may be kept.
func (r *TokenReader) room(n int) bool {
	if r.ids += n; r.ids > maxIDs {
		r.problem(fmt.Sprintf("there are more than %d", maxIDs))
		r.tokens.Prompt, r.tokens.Choices = nil, nil
	}
	return r.ids <= maxIDs
}

// unasked reports whether the client did not ask for a member of a response, at a place of
// those that have some.
func (t *TokenAsk) unasked(place, name string) bool {
	switch place + " " + name {
	case " prompt_token_ids", "choices prompt_token_ids", "choices token_ids":
		return t.added["return_token_ids"]
	case "choices logprobs":
		return t.added["logprobs"]
	case "sglext input_ids", "sglext output_ids":
		return t.added["return_"+name+"_in_sglext"]
	}
	return false
}

// edits remove what only the gateway asked for. extension means that all of sglext is.
func (t *TokenAsk) edits(text []byte, extension bool) (edits []edit) {
	place := ""
	var commas [4]int // the last comma of the object at each depth
	for l := jsontoken.New(text); l.Next(); {
		switch {
		case l.Depth < 0 || l.Depth > 3:
			continue
		case l.Kind == ',':
			commas[l.Depth] = l.Start
			continue
		case l.Kind == '{' && l.Depth < 3:
			commas[l.Depth+1] = 0
			continue
		case !l.Name:
			continue
		}
		depth, name := l.Depth, string(text[l.Start+1:l.End-1])
		if depth == 1 {
			place = name
		}
		at := map[int]string{1: "", 2: "sglext", 3: "choices"}[depth]
		if (depth > 1 && at != place || !t.unasked(at, name)) && !(depth == 1 && name == "sglext" && extension) {
			continue
		}
		l.Next() // the colon
		l.Next()
		start := l.Start
		for (l.Kind == '{' || l.Kind == '[' || l.Depth > depth) && l.Next() {
		}
		switch {
		case string(text[start:l.End]) == "null":
		case t.nulls || name == "logprobs" || commas[depth] == 0:
			edits = append(edits, edit{start, l.End, "null"})
		default:
			edits = append(edits, edit{commas[depth], l.End, ""})
		}
	}
	return edits
}

// Tokens returns what the response said of tokens. usage is what it reported, if anything,
// and whole means that it arrived completely.
func (r *TokenReader) Tokens(usage *Usage, whole bool) *Tokens {
	sampled, uneven := 0, ""
	for i, c := range r.tokens.Choices {
		sampled += len(c.IDs)
		if r.ask.ids && len(c.Logprobs) > 0 && len(c.Logprobs) != len(c.IDs) && uneven == "" {
			uneven = fmt.Sprintf("choice %d has %d ids and %d log-probabilities", i, len(c.IDs), len(c.Logprobs))
		}
	}
	t := &r.tokens
	switch {
	case t.Problem != "":
	case !whole:
		r.problem("the response broke off")
	case !r.ask.ids:
		r.problem("this server reports log-probabilities only")
	case len(t.Prompt) == 0 || sampled == 0:
		r.problem("the server reported no token ids")
	case usage != nil && int64(len(t.Prompt)) != usage.Input:
		r.problem(fmt.Sprintf("there are %d ids of the prompt, and the usage has %d tokens", len(t.Prompt), usage.Input))
	case usage != nil && int64(sampled) != usage.Output:
		r.problem(fmt.Sprintf("there are %d sampled ids, and the usage has %d tokens", sampled, usage.Output))
	default:
		r.problem(uneven)
	}
	return t
}
