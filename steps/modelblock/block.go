package modelblock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Serving is what a step adds to a model block that a gateway serves.
type Serving struct {
	// Key is the provider's key, Virtual that of the gateway's client.
	Key, Virtual string
	// Mask has the secrets that were masked in recordings.
	Mask *secret.Set
	// Recordings are those of the block's argument replay. Earlier plays those of earlier tries of
	// the attempt; it may be nil.
	Recordings []*transcript.Reader
	Earlier    *transcript.Player
	// Before has the earlier exchanges of a client that continues; nil for a new one.
	Before *transcript.Reader
	// Run is the budget of the run, or nil.
	Run *gateway.Pool
}

// Block returns a model block as a gateway serves it: its answers come from recordings, from
// earlier tries, or from the provider.
func Block(m step.Model, s Serving) (b gateway.Block, err error) {
	b = gateway.Block{Dialect: dialect.Named(m.Provider), Virtual: s.Virtual, Real: s.Key, Run: s.Run, PauseClock: m.PauseClock}
	if b.Model, err = Of(m); err != nil {
		return b, err
	}
	replay := func(player *transcript.Player, onMiss gateway.OnMiss) error {
		r := gateway.NewReplay(player, onMiss, b.Upstream)
		b.Upstream = r
		if s.Before == nil {
			return nil
		}
		return r.Continue(s.Before, m.Name)
	}
	if Live(m) {
		b.Upstream, err = gateway.NewProvider(&b.Model, b.Dialect, s.Key, nil)
		if err == nil && s.Earlier != nil {
			err = replay(s.Earlier, gateway.Resume)
		}
	}
	if len(m.Replay) == 0 || err != nil {
		return b, err
	}
	player, err := transcript.NewPlayer(Canonical, s.Mask, s.Recordings...)
	if err != nil {
		return b, err
	}
	if m.OnMiss == MissLive {
		return b, replay(player, gateway.Live)
	}
	return b, replay(player, gateway.Fail)
}

// Check implements Kind.CheckModel for the kinds that use models.
func Check(m step.Model) error {
	_, err := Of(m)
	return err
}

// Key returns the provider's key of a model, or "" if it needs none.
func Key(ctx context.Context, m step.Model) (value string, err error) {
	if m.Key.Ref == "" || !Live(m) {
		return "", nil
	}
	ref, err := m.Key.Parse()
	if err == nil {
		value, err = ref.Resolve(ctx)
	}
	if err == nil && value == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("key of model %q: %w", m.Name, err)
	}
	return value, nil
}

// Pools holds the budgets that all steps of a run share.
type Pools struct{ pools sync.Map }

// Of returns the budget of a model in a run, or nil if it has none.
func (p *Pools) Of(run string, m step.Model) *gateway.Pool {
	if m.RunBudget == (step.ModelBudget{}) {
		return nil
	}
	r := modelReader{m: m}
	pool, _ := p.pools.LoadOrStore(run+" "+m.Name, gateway.NewPool(r.limits("run_budget", m.RunBudget)))
	return pool.(*gateway.Pool)
}

// Canonical returns the canonical form of a request; see transcript.Canonical.
func Canonical(provider string, op dialect.Operation, body []byte) (dialect.Canonical, error) {
	d := dialect.Named(provider)
	if d == nil {
		return dialect.Canonical{}, fmt.Errorf("there is no provider %q", provider)
	}
	return d.Canonical(string(op), body)
}

// Recordings opens the recordings from which a model answers. They are placed at prefix
// followed by their number, unless they are there. The caller closes the readers, also those
// that come with an error.
func Recordings(ctx context.Context, store cache.Files, of step.Model, prefix string) (list []*transcript.Reader, err error) {
	for n, a := range of.Replay {
		if a.Ref.Kind != cache.Tree {
			return list, fmt.Errorf("%s is no recording: it is a file, and a recording is a folder", a.Name())
		}
		at := fmt.Sprintf("%s%d", prefix, n)
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			if _, err := tree.Materialise(ctx, store, a.Ref, at, tree.Options{Mode: tree.Link}); err != nil {
				return list, fmt.Errorf("place the recording %s: %w", a.Name(), err)
			}
		}
		r, err := transcript.OpenReader(os.DirFS(at))
		if err != nil {
			return list, fmt.Errorf("%s is no recording: %w", a.Name(), err)
		}
		list = append(list, r)
	}
	return list, nil
}

// The values of on_miss.
const (
	MissFails = "fail"
	MissLive  = "live"
)

// Of converts a model block into the gateway's model. The error joins one
// WrongArg per mistake.
func Of(m step.Model) (gateway.Model, error) {
	r := modelReader{m: m, out: gateway.Model{
		Name: m.Name, Provider: m.Provider, BaseURL: m.BaseURL, Models: m.Models, Grants: dialect.Grants{}, Prices: map[string]gateway.Price{},
		RecordTokens: m.RecordTokens,
	}}
	r.provider()
	r.key()
	r.endpoint()
	r.tokens()
	r.models()
	r.tools()
	r.out.Budget = r.limits("budget", m.Budget)
	r.limits("run_budget", m.RunBudget)
	if m.RunBudget.ToolCalls > 0 {
		r.fail("run_budget.tool_calls_per_request", "tool_calls_per_request belongs to the block budget: it concerns each request")
	}
	for _, pattern := range slices.Sorted(maps.Keys(m.Prices)) {
		r.out.Prices[pattern] = r.price(pattern, m.Prices[pattern])
	}
	r.retry()
	r.priced()
	return r.out, errors.Join(r.wrong...)
}

// modelReader reads the arguments of a model block.
type modelReader struct {
	m     step.Model
	out   gateway.Model
	wrong []error
}

func (r *modelReader) fail(arg, format string, args ...any) {
	r.wrong = append(r.wrong, step.WrongArg(arg, fmt.Errorf(format, args...)))
}

func (r *modelReader) provider() {
	names := lists.Of(dialect.All(), dialect.Dialect.Name)
	if !slices.Contains(names, r.m.Provider) {
		r.fail("provider", "provider = %q is not one of %s.%s For a server that speaks OpenAI's protocol, write \"openai\" and its base_url", r.m.Provider, strings.Join(names, ", "), diag.DidYouMean(r.m.Provider, names))
	}
}

// Live reports whether requests may go to the provider.
func Live(m step.Model) bool { return len(m.Replay) == 0 || m.OnMiss == MissLive }

func (r *modelReader) key() {
	switch m := r.m; {
	case m.OnMiss != "" && m.OnMiss != MissFails && m.OnMiss != MissLive:
		r.fail("on_miss", "on_miss = %q is not %q or %q", m.OnMiss, MissFails, MissLive)
	case m.OnMiss != "" && len(m.Replay) == 0:
		r.fail("on_miss", "on_miss is for a model with replay; remove it, or add replay")
	case Live(m) && m.Key.Ref == "" && m.BaseURL == "":
		r.fail("key", "the model %q has no key; write key = \"env:NAME\", or replay a recording", m.Name)
	case !Live(m) && m.Key.Ref != "":
		r.fail("key", "the model %q replays a recording, which needs no key; remove key, or write on_miss = %q", m.Name, MissLive)
	}
}

func (r *modelReader) endpoint() {
	if r.m.BaseURL == "" {
		return
	}
	if err := gateway.CheckBaseURL(r.m.BaseURL); err != nil {
		r.fail("base_url", "base_url: %w", err)
	}
}

func (r *modelReader) tokens() {
	kinds := dialect.TokenServers(r.m.Provider)
	switch kind := r.m.RecordTokens; {
	case kind == "" || slices.Contains(kinds, kind):
	case len(kinds) == 0:
		r.fail("record_tokens", "no server of provider %q reports token ids; remove record_tokens", r.m.Provider)
	default:
		r.fail("record_tokens", "record_tokens = %q is no kind of server that can be asked for token ids.%s They are %s", kind, diag.DidYouMean(kind, kinds), strings.Join(kinds, ", "))
	}
}

func (r *modelReader) models() {
	if len(r.m.Models) == 0 {
		r.fail("models", "models is empty, so the agent could ask for none; list names such as \"gpt-5.5\" or patterns such as \"gpt-5*\"")
	}
	for _, name := range r.m.Models {
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			r.fail("models", "%q is not the name of a model", name)
		}
	}
}

func (r *modelReader) tools() {
	names := lists.Of(dialect.Abilities(), func(a dialect.Described) string { return string(a.Ability) })
	for _, name := range r.m.Tools {
		if !slices.Contains(names, name) {
			r.fail("tools", "there is no ability %q.%s They are %s", name, diag.DidYouMean(name, names), strings.Join(names, ", "))
			continue
		}
		r.out.Grants[dialect.Ability(name)] = true
	}
}

// money parses an amount. It returns nil if there is none or it is wrong.
func (r *modelReader) money(arg, text string) *gateway.Dollars {
	if text == "" {
		return nil
	}
	d, err := gateway.ParseDollars(text)
	if err == nil && !strings.HasSuffix(text, "USD") {
		err = fmt.Errorf("%q has no unit; write \"%s USD\"", text, text)
	}
	if err != nil {
		r.fail(arg, "%s: %w", arg[strings.LastIndex(arg, ".")+1:], err)
		return nil
	}
	return &d
}

func (r *modelReader) limits(block string, b step.ModelBudget) gateway.Limits {
	l := gateway.Limits{Tokens: b.Tokens, Requests: b.Requests, PerMinute: b.PerMinute, Concurrent: b.Concurrent, ToolCalls: b.ToolCalls}
	if cost := r.money(block+".cost", b.Cost); cost != nil {
		if l.Cost = *cost; l.Cost == 0 {
			r.fail(block+".cost", "cost = %q allows nothing; leave it out for no limit", b.Cost)
		}
	}
	return l
}

func (r *modelReader) price(pattern string, p step.ModelPrice) gateway.Price {
	of := func(name, text string) *gateway.Dollars { return r.money("price."+pattern+"."+name, text) }
	free := gateway.Dollars(0)
	return gateway.Price{
		Rates: gateway.Rates{
			Input: *cmp.Or(of("input", p.Input), &free), Output: *cmp.Or(of("output", p.Output), &free), InputAudio: of("input_audio", p.InputAudio),
			CacheRead: of("cache_read", p.CacheRead), CacheWrite: of("cache_write", p.CacheWrite), CacheWriteHour: of("cache_write_hour", p.CacheWriteHour),
		},
		MaxOutput: p.MaxOutput, MaxInput: p.MaxInput,
		ToolCalls: r.toolPrices("price."+pattern+".tool_calls", p.ToolCalls), ToolRequests: r.toolPrices("price."+pattern+".tool_requests", p.ToolRequests),
	}
}

// toolPrices parses the prices of calls of the provider-side tools.
func (r *modelReader) toolPrices(arg string, texts map[string]string) map[dialect.Tool]gateway.Dollars {
	var prices map[dialect.Tool]gateway.Dollars
	names := lists.Of(dialect.Tools(), func(t dialect.Tool) string { return string(t) })
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(names, name) {
			r.fail(arg, "there is no tool %q that is charged by the call.%s They are %s", name, diag.DidYouMean(name, names), strings.Join(names, ", "))
			continue
		}
		if d := r.money(arg, texts[name]); d != nil {
			if prices == nil {
				prices = map[dialect.Tool]gateway.Dollars{}
			}
			prices[dialect.Tool(name)] = *d
		}
	}
	return prices
}

func (r *modelReader) retry() {
	r.out.Retry.Attempts = r.m.Retry.Attempts
	if r.m.Retry.Longest == "" {
		return
	}
	d, err := time.ParseDuration(r.m.Retry.Longest)
	if err != nil || d <= 0 {
		r.fail("retry.longest", "longest = %q is not a duration, such as \"60s\"", r.m.Retry.Longest)
	}
	r.out.Retry.Longest = d
}
