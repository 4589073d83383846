package telemetry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// conversations makes the spans of a transcript.
type conversations struct {
	run     *Run
	parent  trace.SpanID
	address string
	// open are the calls of tools that have no result yet, by conversation and
	// identifier, or name in dialects without identifiers.
	open map[string]call
}

// call is a call of a tool that a reply asked for.
type call struct {
	message.Call
	id    trace.SpanID
	asked time.Time
}

// operations are the conventions' names of operations that ask a model.
var operations = map[dialect.Operation]string{
	dialect.ChatCompletions: "chat", dialect.Responses: "chat", dialect.Messages: "chat", dialect.Completions: "text_completion",
	dialect.GenerateContent: "generate_content", dialect.StreamGenerateContent: "generate_content",
	dialect.Embeddings: "embeddings", dialect.EmbedContent: "embeddings", dialect.BatchEmbedContents: "embeddings",
}

// providers are the conventions' names of dialects that differ.
var providers = map[string]string{"gemini": "gcp.gemini"}

// Members of a response's JSON. Quotes within strings are escaped there, so that
// no text of a model matches.
var (
	modelMember  = pattern.New(`"model"\s*:\s*"([^"\\]+)"`)
	geminiMember = pattern.New(`"modelVersion"\s*:\s*"([^"\\]+)"`)
	finishMember = pattern.New(`"(?:finish_reason|stop_reason|finishReason)"\s*:\s*"([^"\\]+)"`)
)

func (c *conversations) turn(t *transcript.Turn, answer []byte) {
	for _, m := range t.Said {
		for _, result := range m.Results {
			c.result(t, result)
		}
	}
	operation := cmp.Or(operations[t.Operation], string(t.Operation), "unknown")
	end := t.Time.Add(time.Duration(t.Seconds * float64(time.Second)))
	x := span{run: c.run.id, id: spanID(c.run.id, c.address, "call", strconv.Itoa(t.Sequence)), parent: c.parent, kind: trace.SpanKindClient, start: t.Time, end: end}
	x.name = strings.TrimSuffix(operation+" "+t.Asked, " ")
	x.attrs = append(texts(string(semconv.GenAIOperationNameKey), operation, string(semconv.GenAIProviderNameKey), cmp.Or(providers[t.Provider], t.Provider),
		string(semconv.GenAIRequestModelKey), t.Asked, "mleflow.model_block", t.Model, "mleflow.refused", string(t.Refused)),
		attribute.Int("mleflow.sequence", t.Sequence), semconv.GenAIRequestStream(t.Stream), attribute.Float64("mleflow.cost_usd", float64(t.Cost)/1e9),
		attribute.Bool("mleflow.replayed", t.Replayed), attribute.Float64("mleflow.waited_seconds", t.Waited))
	if t.Conversation > 0 {
		x.attrs = append(x.attrs, semconv.GenAIConversationID(fmt.Sprintf("%s/%s/%d", c.run.id, c.address, t.Conversation)))
	}
	if t.Status > 0 {
		x.attrs = append(x.attrs, semconv.HTTPResponseStatusCode(t.Status))
	}
	if t.FirstByte > 0 && t.Stream {
		x.attrs = append(x.attrs, semconv.GenAIResponseTimeToFirstChunk(t.FirstByte))
	}
	if u := t.Usage; u != nil {
		x.attrs = append(x.attrs, semconv.GenAIUsageInputTokens(int(u.Input)), semconv.GenAIUsageOutputTokens(int(u.Output)), semconv.GenAIUsageCacheReadInputTokens(int(u.CacheRead)),
			semconv.GenAIUsageCacheCreationInputTokens(int(u.CacheWrite)), semconv.GenAIUsageReasoningOutputTokens(int(u.Reasoning)))
	}
	finish := x.response(t, answer)
	if c.run.to.content {
		x.attrs = append(x.attrs, messages(semconv.GenAIInputMessagesKey, t.Said, ""), messages(semconv.GenAIOutputMessagesKey, []message.Message{t.Reply}, cmp.Or(finish, "unknown")))
	}
	c.run.to.put(x)
	for i, asked := range t.Reply.Calls {
		c.open[callKey(t, cmp.Or(asked.ID, asked.Name))] = call{asked, spanID(c.run.id, c.address, "tool", strconv.Itoa(t.Sequence), strconv.Itoa(i)), end}
	}
}

// response adds facts of the response to the span of an exchange. It returns why
// the model stopped, if the response tells.
func (x *span) response(t *transcript.Turn, answer []byte) (finish string) {
	member := modelMember
	if t.Provider == "gemini" {
		member = geminiMember
	}
	if m := member.Regexp().FindSubmatch(answer); m != nil {
		x.attrs = append(x.attrs, texts(string(semconv.GenAIResponseModelKey), string(m[1]))...)
	}
	if all := finishMember.Regexp().FindAllSubmatch(answer, -1); len(all) > 0 {
		finish = strings.ToValidUTF8(string(all[len(all)-1][1]), "\ufffd")
		x.attrs = append(x.attrs, semconv.GenAIResponseFinishReasons(finish))
	}
	switch {
	case t.Refused != "":
		x.failed, x.class = string(t.Refused), string(t.Refused)
	case t.Status >= 400:
		x.class = strconv.Itoa(t.Status)
		x.failed = cmp.Or(t.Failed, "status "+x.class)
	case t.Status == 0 || t.Failed != "" || t.Reply.Error != "":
		x.failed, x.class = cmp.Or(t.Failed, "the response is incomplete or reports an error"), "incomplete"
	}
	return finish
}

func callKey(t *transcript.Turn, id string) string { return strconv.Itoa(t.Conversation) + " " + id }

// result makes the span of a call whose result a request brings: from the reply
// that asked for it to that request.
func (c *conversations) result(t *transcript.Turn, result message.Result) {
	key := callKey(t, cmp.Or(result.ID, result.Name))
	asked, ok := c.open[key]
	if !ok {
		return
	}
	delete(c.open, key)
	x := span{run: c.run.id, id: asked.id, parent: c.parent, kind: trace.SpanKindInternal, start: asked.asked, end: t.Time, name: "execute_tool " + asked.Name}
	x.attrs = append([]attribute.KeyValue{semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(asked.Name), semconv.GenAIToolType("function")},
		texts(string(semconv.GenAIToolCallIDKey), asked.ID)...)
	if result.Failed {
		x.failed, x.class = "the tool reported an error", "tool_error"
	}
	if c.run.to.content {
		x.attrs = append(x.attrs, texts(string(semconv.GenAIToolCallArgumentsKey), asked.Arguments, string(semconv.GenAIToolCallResultKey), result.Text)...)
	}
	c.run.to.put(x)
}

// messages encodes messages as the conventions do: a role and parts, and why the
// model stopped if it wrote them.
func messages(key attribute.Key, list []message.Message, finish string) attribute.KeyValue {
	type part map[string]any
	out := []map[string]any{}
	for _, m := range list {
		parts := []part{}
		if m.Reasoning != "" {
			parts = append(parts, part{"type": "reasoning", "content": m.Reasoning})
		}
		if m.Text != "" {
			parts = append(parts, part{"type": "text", "content": m.Text})
		}
		for _, c := range m.Calls {
			arguments := any(c.Arguments)
			if json.Valid([]byte(c.Arguments)) {
				arguments = json.RawMessage(c.Arguments)
			}
			parts = append(parts, part{"type": "tool_call", "id": c.ID, "name": c.Name, "arguments": arguments})
		}
		for _, r := range m.Results {
			parts = append(parts, part{"type": "tool_call_response", "id": r.ID, "response": r.Text})
		}
		one := map[string]any{"role": cmp.Or(m.Role, "assistant"), "parts": parts}
		if finish != "" {
			one["finish_reason"] = finish
		}
		out = append(out, one)
	}
	text, _ := json.Marshal(out) // of maps, slices and strings
	return key.String(string(text))
}
