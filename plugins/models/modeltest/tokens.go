package modeltest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// TokenServer makes a Server of OpenAI's dialect report token ids and
// log-probabilities, in the form of a kind of server: "vllm" as its protocol
// and its streams are since 0.10.2, "sglang" as its sglext is since 2026, "tgi"
// with log-probabilities only, and "openai", which refuses members that it does not know.
type TokenServer struct {
	Kind string
	// Fault names what is wrong with the tokens of an answer: "missing",
	// "late" (all in the last event), "null" or "floor" log-probabilities,
	// "uneven" (one log-probability too few) or "lost" (an id is missing, as in
	// streams of vLLM 0.11 with a parser of tools).
	Fault func(*Ask) string
}

// The ids of the toy tokenizer: a byte is an id, and these are its special
// tokens.
const (
	firstByte = 100
	endToken  = 2
	thinkMark = 3
)

// TokensOf returns the ids of a text that the model wrote.
func TokensOf(text string) []uint32 {
	ids := []uint32{thinkMark}
	for _, b := range []byte(text) {
		ids = append(ids, firstByte+uint32(b))
	}
	return append(ids, endToken)
}

// PromptOf returns the ids of a conversation, up to where the model writes.
func PromptOf(messages []Message) (ids []uint32) {
	for _, m := range messages {
		ids = append(ids, 10+uint32(len(m.Role)))
		said := TokensOf(m.Text)
		if m.Role != "assistant" {
			said = said[1:]
		}
		ids = append(ids, said...)
	}
	return append(ids, 10+uint32(len("assistant")))
}

// LogprobOf returns the log-probability of a token by its position.
func LogprobOf(position int) float64 { return -float64(position%13) / 7 }

// refuse returns what a server of the kind refuses.
func (s *TokenServer) refuse(a *Ask) *failure {
	for _, name := range []string{"return_token_ids", "return_input_ids_in_sglext", "return_output_ids_in_sglext"} {
		var asked bool
		switch a.get(name, &asked); {
		case asked && s.Kind == "openai":
			return failed(http.StatusBadRequest, "Unrecognized request argument supplied: %s", name)
		case asked && s.Kind == "sglang" && a.Stream && a.Operation == "chat" && name == "return_token_ids":
			return failed(http.StatusBadRequest, "%s is not supported with streaming", name)
		}
	}
	return nil
}

// answering is an answer of a TokenServer.
type answering struct {
	*TokenServer
	a          *Ask
	id, fault  string
	created    int64
	ids, probs bool // what was asked for
	prompt     []uint32
	choices    []string
}

func (s *TokenServer) reply(of *Server, a *Ask, answer Answer) reply {
	r := answering{TokenServer: s, a: a, id: fmt.Sprintf("chatcmpl-%d", a.Number), created: of.Created, prompt: PromptOf(a.Messages)}
	var n, logprobs int
	var flag, input, output bool
	a.get("n", &n)
	a.get("logprobs", &r.probs)
	if a.get("logprobs", &logprobs); logprobs > 0 {
		r.probs = true
	}
	a.get("return_token_ids", &flag)
	a.get("return_input_ids_in_sglext", &input)
	a.get("return_output_ids_in_sglext", &output)
	r.ids = flag && s.Kind == "vllm" || input && output && s.Kind == "sglang" || flag && s.Kind == "sglang" && a.Operation == "completions"
	if s.Fault != nil {
		r.fault = s.Fault(a)
	}
	r.choices = []string{answer.Text}
	for i := 1; i < n; i++ {
		r.choices = append(r.choices, answer.Text+strconv.Itoa(i))
	}
	if a.Stream {
		return reply{events: r.events()}
	}
	return reply{body: r.body()}
}

// usage counts all choices.
func (r *answering) usage() object {
	out := 0
	for _, text := range r.choices {
		out += len(TokensOf(text))
	}
	return object{"prompt_tokens": len(r.prompt), "completion_tokens": out, "total_tokens": len(r.prompt) + out}
}

// report returns the ids and log-probabilities of a part of a choice, nil for none.
func (r *answering) report(from int, ids []uint32, last bool) (token, logprobs any) {
	if r.ids && r.fault != "missing" {
		token = ids
		if i := slices.Index(ids, thinkMark); i >= 0 && r.fault == "lost" {
			token = slices.Delete(slices.Clone(ids), i, i+1)
		}
	}
	if !r.probs || r.fault == "none" {
		return token, nil
	}
	values, content := list{}, list{}
	for i, id := range ids {
		value := any(LogprobOf(from + i))
		switch {
		case r.fault == "null":
			value = nil
		case r.fault == "floor":
			value = -9999.0
		case r.fault == "uneven" && last && i == len(ids)-1:
			continue
		}
		values = append(values, value)
		text := string(rune(max(int(id)-firstByte, 0)))
		content = append(content, object{"token": text, "logprob": value, "bytes": []int{int(id)}, "top_logprobs": list{}})
	}
	if r.a.Operation == "completions" {
		return token, object{"text_offset": list{}, "token_logprobs": values, "tokens": list{}, "top_logprobs": nil}
	}
	return token, object{"content": content}
}

// put adds members that vLLM writes as null when they were not asked for, and others leave out.
func (r *answering) put(o object, name string, value any) {
	if value != nil || r.Kind == "vllm" {
		o[name] = value
	}
}

// reported returns the ids of the prompt, nil for none.
func (r *answering) reported() any {
	if !r.ids || r.fault == "missing" {
		return nil
	}
	return r.prompt
}

// separate reports that ids are beside the choices.
func (r *answering) separate() bool { return r.Kind == "sglang" && r.a.Operation == "chat" }

// extension adds sglext.
func (r *answering) extension(o object) {
	if !r.separate() || r.reported() == nil {
		return
	}
	var out [][]uint32
	for _, text := range r.choices {
		out = append(out, TokensOf(text))
	}
	o["sglext"] = object{"input_ids": r.prompt, "output_ids": out}
}

func (r *answering) body() object {
	o := object{"id": r.id, "object": "chat.completion", "created": r.created, "model": r.a.Model, "usage": r.usage(), "system_fingerprint": nil}
	choices := list{}
	for i, text := range r.choices {
		ids, logprobs := r.report(0, TokensOf(text), true)
		c := object{"index": i, "logprobs": logprobs, "finish_reason": "stop", "stop_reason": nil, "message": object{"role": "assistant", "content": text, "refusal": nil}}
		if r.a.Operation == "completions" {
			delete(c, "message")
			c["text"] = text
			r.put(c, "prompt_token_ids", r.reported())
		}
		if !r.separate() {
			r.put(c, "token_ids", ids)
		}
		choices = append(choices, c)
	}
	if o["choices"] = choices; r.a.Operation == "chat" && r.Kind == "vllm" {
		o["prompt_token_ids"], o["prompt_logprobs"] = r.reported(), nil
	}
	r.extension(o)
	return o
}

func (r *answering) events() (events []event) {
	chunk := func(choices list) object {
		o := object{"id": r.id, "object": "chat.completion.chunk", "created": r.created, "model": r.a.Model, "choices": choices}
		events = append(events, event{data: o})
		return o
	}
	choice := func(i int, text string) object {
		if r.a.Operation == "completions" {
			return object{"index": i, "text": text, "finish_reason": nil, "logprobs": nil}
		}
		delta := object{}
		if text != "" {
			delta["content"] = text
		}
		return object{"index": i, "delta": delta, "finish_reason": nil, "logprobs": nil}
	}
	for i := range r.choices {
		c := choice(i, "")
		if r.a.Operation == "chat" {
			c["delta"] = object{"role": "assistant", "content": ""}
			if o := chunk(list{c}); r.Kind == "vllm" {
				o["prompt_token_ids"] = r.reported()
			}
		}
	}
	for i, text := range r.choices {
		r.choice(i, text, choice, chunk)
	}
	last := object{}
	if r.extension(last); last["sglext"] != nil {
		chunk(list{})["sglext"] = last["sglext"]
	}
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	if r.a.get("stream_options", &options); options.IncludeUsage {
		chunk(list{})["usage"] = r.usage()
	}
	return append(events, event{data: "[DONE]"})
}

// choice sends a choice: the token that its parser keeps to itself, its text, and its end.
func (r *answering) choice(i int, text string, choice func(int, string) object, chunk func(list) object) {
	all, at := TokensOf(text), 0
	send := func(text string, n int, last bool) {
		ids, from := all[at:at+n], at
		at += n
		if r.fault == "late" {
			ids, from = nil, 0
			if last {
				ids = all
			}
		}
		c := choice(i, text)
		var token any
		if token, c["logprobs"] = r.report(from, ids, last); last {
			c["finish_reason"], c["stop_reason"] = "stop", nil
		}
		if r.a.Operation == "completions" && from == 0 {
			r.put(c, "prompt_token_ids", r.reported())
		}
		if !r.separate() {
			r.put(c, "token_ids", token)
		}
		if text != "" || last || r.a.Operation == "chat" && (token != nil && !r.separate() || c["logprobs"] != nil) {
			chunk(list{c})
		}
	}
	if r.a.Operation == "completions" { // the first piece has the token before it, too
		first := pieces(text)[0]
		send(first, len(first)+1, false)
		for _, p := range pieces(text)[1:] {
			send(p, len(p), false)
		}
		send("", 1, true)
		return
	}
	send("", 1, false)
	for _, p := range pieces(text) {
		send(p, len(p), false)
	}
	send("", 1, true)
}
