package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/retry"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// exchange is one request with its response and accounting.
type exchange struct {
	*block
	gateway *Gateway
	w       http.ResponseWriter
	r       *http.Request
	start   time.Time
	event   transcript.Event
	record  *transcript.Exchange
	// body is the number of bytes held for the request's body.
	body  int64
	asked *dialect.Request
	price Price
	// held is the amount reserved under id, or the cost of a replayed
	// recording. It is nil if there is neither. charged reports that an earlier
	// try already paid for the recording.
	held    *Amount
	charged bool
	id      int64
	// recorded is the usage of a replayed recording.
	recorded *dialect.Usage
	// reserved is the original reservation. output is the number of output
	// tokens that it covers.
	reserved Amount
	output   int64
	limit    string // name of the limit that refused the request
	waited   time.Duration
	meter    dialect.Meter
	// tokens reads the response if the server was asked for token ids.
	tokens *dialect.TokenReader
	// reply is the header of the response, and begun reports that the client
	// received it.
	reply http.Header
	begun bool
}

func (g *Gateway) exchange(w http.ResponseWriter, r *http.Request, b *block, path string) {
	now := time.Now()
	defer g.calls.begin()()
	x := &exchange{block: b, gateway: g, w: w, r: r, start: now, event: transcript.Event{
		Time: now.UTC(), Model: b.Name, Provider: b.Dialect.Name(), Method: r.Method, Path: b.Secrets.Mask(path),
	}}
	err := x.try(path)
	if no, ok := errors.AsType[*dialect.Refusal](err); ok && !x.begun {
		x.refuse(no)
		err = nil
	}
	x.end(err)
	if err != nil && x.begun {
		// The client has an incomplete response. Only a broken connection tells
		// it so.
		panic(http.ErrAbortHandler)
	}
}

// try answers the request. A panic fails only this request: the bytes come from
// an agent that might try to provoke one.
func (x *exchange) try(path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.event.Failed = x.Secrets.Mask(fmt.Sprintf("panic: %v", p))
			err = &dialect.Refusal{Reason: dialect.BadRequest, Text: "The model gateway cannot handle this request."}
		}
	}()
	call, err := x.admit(path)
	if err != nil {
		return err
	}
	ctx, cancel := x.outlive(call.Client)
	defer cancel()
	answer, err := x.Upstream.Do(ctx, call)
	if err != nil {
		return x.failed(err)
	}
	defer answer.Body.Close()
	if asked, ok := retry.Asked(answer.Header); ok && answer.Status >= http.StatusBadRequest && answer.Recorded == nil {
		x.gateway.calls.wait(asked)
	}
	x.event.Attempts, x.event.Diverged = answer.Attempts, answer.Diverged
	if e := answer.Recorded; e != nil {
		x.event.Replayed, x.event.Recording, x.event.Normalised, x.event.Masked = true, e.Sequence, answer.Normalised, e.Masked
		x.held, x.charged, x.recorded = &Amount{Dollars(e.Cost), e.Tokens, 1}, answer.Charged, e.Usage
	}
	x.meter = x.Dialect.Usage(call.Request)
	x.keepTokens(answer)
	call.Body, call.Request.Body = nil, nil // a response may take hours
	x.release()
	return x.pass(answer)
}

// keepTokens makes the response what the client asked for, and keeps its token ids.
func (x *exchange) keepTokens(answer *Reply) {
	ask := x.asked.Tokens
	if answer.Tokens != nil && x.RecordTokens != "" {
		x.record.Sampled(answer.Tokens)
	}
	if ask == nil {
		return
	}
	ask.Without = nil
	if answer.Recorded != nil || answer.Status >= http.StatusMultipleChoices {
		return
	}
	h := answer.Header
	x.tokens = ask.Read(answer.Body, strings.HasPrefix(h.Get("Content-Type"), eventStream), encodingOf(h) != "")
	answer.Body = struct {
		io.Reader
		io.Closer
	}{x.tokens, answer.Body}
	h.Del("Content-Length")
}

// admit authenticates, parses and checks a request.
func (x *exchange) admit(path string) (*Call, error) {
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	key := ""
	if err == nil {
		key = x.Dialect.Key(x.r.Header, query)
	}
	if !sameKey(key, x.Virtual) {
		return nil, &dialect.Refusal{Reason: dialect.BadKey, Text: "Wrong API key. Use the one that the environment of this agent has for model " + x.Name + "."}
	}
	if x.r.Header.Get("Upgrade") != "" {
		return nil, &dialect.Refusal{Reason: dialect.NoSocket, Text: "The model gateway speaks HTTP only: send the request without an upgrade to WebSocket."}
	}
	body, err := x.read()
	x.record = x.gateway.record.Begin(body)
	if err != nil {
		return nil, err
	}
	asked, err := x.Dialect.Read(dialect.Incoming{Method: x.r.Method, Path: path, Query: query, Header: x.r.Header, Body: body, Tokens: x.RecordTokens}, x.Grants)
	if err != nil {
		return nil, err
	}
	x.event.Operation, x.event.Asked, x.event.Stream = asked.Operation, asked.Model, asked.Stream
	x.event.Changed = append(x.event.Changed, asked.Changed...)
	x.asked = asked
	if x.price, err = x.priceOf(asked); err != nil {
		return nil, err
	}
	most, err := x.most(asked)
	if err != nil {
		return nil, err
	}
	header := outgoing(asked.Header, x.r.Header)
	if asked.Tokens != nil {
		header.Set("Accept-Encoding", "identity")
	}
	return &Call{
		Dialect: x.Dialect, Request: asked, Method: x.r.Method, Path: path, Body: body, Header: header,
		Client: x.r.Context(), Reserve: func() error { return x.reserve(most) },
		Wait: func(from time.Time) func() {
			end := x.waits.begin(from)
			return func() { x.waited += end() }
		},
	}, nil
}

// priceOf checks that the requested model is allowed and finds its price.
func (x *exchange) priceOf(asked *dialect.Request) (Price, error) {
	if asked.Model == "" {
		if asked.Free || asked.Unmetered {
			return Price{}, nil
		}
		return Price{}, &dialect.Refusal{Reason: dialect.BadRequest, Text: "The request names no model."}
	}
	if !x.Allows(asked.Model) {
		return Price{}, &dialect.Refusal{Reason: dialect.NotAllowed, Text: fmt.Sprintf("Model %q is not allowed: the pipeline's model %q lists %q in models.", asked.Model, x.Name, x.Models)}
	}
	if asked.Free || asked.Unmetered {
		return Price{}, nil
	}
	price, ok := PriceOf(&x.Model, asked.Model)
	if !ok {
		return Price{}, &dialect.Refusal{Reason: dialect.NotAllowed, Text: fmt.Sprintf("The price of model %q is not known, so the budget cannot hold: the pipeline's model %q must give it in a price block.", asked.Model, x.Name)}
	}
	return price, nil
}

// bounded reports whether a budget limits amounts that only a response reveals.
func bounded(p *Pool) bool { return p.limits.Cost > 0 || p.limits.Tokens > 0 }

// most returns the worst case of a request.
func (x *exchange) most(asked *dialect.Request) (Amount, error) {
	a := Amount{Requests: 1}
	if asked.Free {
		return a, nil
	}
	if asked.Unmetered && slices.ContainsFunc(x.pools(), bounded) {
		return a, &dialect.Refusal{Reason: dialect.NotAllowed, Text: "No response tells what this operation costs, so the budget cannot hold: it needs a model block without limits of cost and tokens."}
	}
	if asked.Unmetered {
		return a, nil
	}
	input := asked.InputTokens
	if asked.Hidden {
		if x.price.MaxInput <= 0 {
			return a, &dialect.Refusal{Reason: dialect.BadRequest, Text: fmt.Sprintf("The request's input cannot be bounded (a granted ability, a PDF, sound or video), and the price of %q has no max_input.", asked.Model)}
		}
		input = max(input, x.price.MaxInput)
	}
	output := cmp.Or(asked.OutputTokens, x.price.MaxOutput)
	if output <= 0 && x.price.Output > 0 {
		return a, &dialect.Refusal{Reason: dialect.BadRequest, Text: fmt.Sprintf("The request sets no limit of its output, and the price of %q has none either: set one, or max_output in the pipeline's price block.", asked.Model)}
	}
	output = times(max(output, 0), max(asked.Choices, 1))
	x.output, a.Tokens = output, plus(input, output)
	tools, err := x.toolsOf(asked)
	a.Cost = x.price.Most(input, output)
	if x.Grants[dialect.Premium] {
		a.Cost = x.price.MostServed(input, output)
	}
	a.Cost = plus(a.Cost, x.price.ToolCost(func(t dialect.Tool) int64 { return tools[t] }))
	return x.gateway.ledger.scaled(x.Name, a), err
}

// toolsOf returns the maximum number of calls of each provider-side tool. It
// refuses the request if its cost is limited and a tool has no known price or
// no bound.
func (x *exchange) toolsOf(asked *dialect.Request) (map[dialect.Tool]int64, error) {
	most := map[dialect.Tool]int64{}
	limited := slices.ContainsFunc(x.pools(), func(p *Pool) bool { return p.limits.Cost > 0 })
	for _, t := range slices.Sorted(maps.Keys(asked.Tools)) {
		n := cmp.Or(asked.Tools[t], x.Budget.ToolCalls)
		price := x.price.ToolCalls[t]
		switch {
		case limited && !x.price.HasTool(t):
			return nil, &dialect.Refusal{Reason: dialect.NotAllowed, Text: fmt.Sprintf("The price of a call of %s by %q is not known, so the budget cannot hold: the pipeline's model %q must give it in tool_calls of a price block.", t, asked.Model, x.Name)}
		case limited && n == 0 && price > 0:
			return nil, &dialect.Refusal{Reason: dialect.BadRequest, Text: fmt.Sprintf("The request does not limit how often the provider may call %s, so the budget cannot hold: set max_uses or max_tool_calls in the request, or tool_calls_per_request in the budget of the pipeline's model %q.", t, x.Name)}
		}
		most[t] = max(n, 1)
	}
	return most, nil
}

// failed records why no answer came and returns a refusal for the client.
func (x *exchange) failed(err error) error {
	if _, ok := errors.AsType[*dialect.Refusal](err); ok {
		return err
	}
	var failure *Failure
	if !errors.As(err, &failure) {
		failure = &Failure{Err: err, Sent: true}
	}
	x.event.Attempts, x.event.Diverged = failure.Attempts, failure.Diverged
	x.event.Failed = x.Secrets.Mask(failure.Error())
	if x.r.Context().Err() != nil {
		x.event.Gone, x.event.Failed = true, ""
	}
	if !failure.Sent {
		x.settle(Amount{}, nil, nil)
	}
	return &dialect.Refusal{Reason: dialect.Unreachable, Text: "The provider of model " + x.Name + " did not answer."}
}

// refuse replies with an error from the gateway itself.
func (x *exchange) refuse(no *dialect.Refusal) {
	if x.record == nil { // the body was not read
		x.record = x.gateway.record.Begin(nil)
	}
	x.event.Refused, x.event.Ability = no.Reason, no.Ability
	x.gateway.ledger.note(entry{Kind: refused, Model: x.Name, Reason: no.Reason, Limit: x.limit})
	status, header, body := x.Dialect.Error(*no)
	maps.Copy(x.w.Header(), header)
	x.event.Status, x.event.Headers = status, keptHeaders(x.w.Header())
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // the client has gone
	_, _ = x.record.Write(body)
}

// end settles the remaining reservation and records the exchange.
func (x *exchange) end(err error) {
	if err != nil && !x.event.Gone && x.event.Failed == "" {
		x.event.Failed = x.Secrets.Mask(err.Error())
	}
	if x.meter != nil && x.event.Failed == "" {
		x.event.Failed = x.Secrets.Mask(x.meter.Failed())
	}
	x.account(err == nil)
	x.event.Seconds = time.Since(x.start).Seconds()
	x.event.Waited = x.waited.Seconds()
	x.record.End(x.event)
	x.release()
}

// account settles by the reported usage. whole reports that the response arrived
// completely.
func (x *exchange) account(whole bool) {
	var usage *dialect.Usage
	if x.meter != nil {
		if u, ok := x.meter.Usage(); ok && !forNothing(x.meter) && x.credible(u) {
			usage = &u
		}
		if by := x.meter.Progress().Model; by != x.event.Asked {
			x.event.Answered = x.Secrets.Mask(by)
		}
	}
	if x.tokens != nil && x.record != nil {
		x.record.Sampled(x.tokens.Tokens(usage, whole && x.meter.Done() && !x.event.Gone))
	}
	spent, estimate := x.spent(usage, whole)
	x.settle(spent, usage, estimate)
}

// release returns the memory reserved for the request's body.
func (x *exchange) release() {
	x.gateway.bodies.Release(x.body)
	x.body = 0
}

// A response whose client has left is read to its end, because its usage comes
// last and the provider charges for it anyway.
const (
	// restTime and restBytes bound what is read of it.
	restTime  = 10 * time.Minute
	restBytes = 64 << 20
	// endTime is the time that remains once the attempt has ended.
	endTime = 5 * time.Second
)

var errGone = errors.New("the client has gone")

// left reports whether the client has left.
func (x *exchange) left() bool {
	left := x.event.Gone || x.r.Context().Err() != nil
	x.gone(left)
	return left
}

// gone records that the client has left. An error is the provider's answer even if
// the client does not wait for its end.
func (x *exchange) gone(is bool) {
	x.event.Gone = x.event.Gone || is && x.event.Status < http.StatusBadRequest
}

// outlive returns the context of a request to the provider. It ends a while
// after its client has left. The returned function ends it at once.
func (x *exchange) outlive(client context.Context) (context.Context, func()) {
	if x.asked.Free || x.asked.Unmetered { // there is no usage to wait for
		return context.WithCancel(client)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	stop := context.AfterFunc(client, func() {
		defer cancel()
		patience := time.NewTimer(restTime)
		defer patience.Stop()
		select {
		case <-patience.C:
		case <-ctx.Done():
		case <-x.gateway.ended:
			_ = progress.Sleep(ctx, endTime)
		}
	})
	return ctx, func() { stop(); cancel() }
}

// credible reports whether a response may have used so little: a text has
// tokens, and so has a request.
func (x *exchange) credible(u dialect.Usage) bool {
	return (u.Input > 0 || x.asked.InputTokens <= 0) && u.Output >= leastTokens(x.meter)
}

// longestToken exceeds the bytes of any token in any known vocabulary.
const longestToken = 256

// leastTokens is the least number of tokens of the text that has arrived.
func leastTokens(m dialect.Meter) int64 { return (m.Progress().Text + longestToken - 1) / longestToken }
