package step

import (
	"context"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// Choice is the value that a kind chose for an argument that leaves it to the
// machine; see Attr.Open.
type Choice struct {
	// Arg is the argument's name. Value replaces the written value.
	Arg   string `json:"argument"`
	Value string `json:"value"`
	// Why is the reason, as half a sentence.
	Why string `json:"why"`
	// Warning is a text that everybody must read before anything runs, or "".
	Warning string `json:"-"`
}

// ask returns the answer of a step that implements I, and nothing otherwise. The step may
// be nil.
func ask[I, T any](s Step, answer func(I) T) (t T) {
	if able, ok := s.(I); ok {
		t = answer(able)
	}
	return t
}

// Wanting is implemented by steps that can tell, before they run, which of
// their requirements this machine does not meet, such as a key. Missing returns
// half a sentence for each.
type Wanting interface {
	Missing(context.Context) []string
}

// Missing returns the unmet requirements of a step.
func Missing(ctx context.Context, s Step) []string {
	return ask(s, func(w Wanting) []string { return w.Missing(ctx) })
}

// Unmasking is implemented by steps with secrets that cannot be masked. Unmasked
// returns half a sentence for each.
type Unmasking interface {
	Unmasked(context.Context) []string
}

// Unmasked returns the secrets of a step that cannot be masked.
func Unmasked(ctx context.Context, s Step) []string {
	return ask(s, func(u Unmasking) []string { return u.Unmasked(ctx) })
}

// Durable is implemented by steps that can survive the loss of their machine. OnLoss
// says how, as half a sentence, or "" if they start from the beginning.
type Durable interface{ OnLoss() string }

// OnLoss returns what becomes of a step whose machine is lost, or "".
func OnLoss(s Step) string { return ask(s, Durable.OnLoss) }

// Restless is implemented by steps that may have to run although their result
// is in the cache, because a file of the pipeline that they write is missing.
// Again returns the reason as half a sentence, or "".
type Restless interface{ Again() string }

// Again returns the reason why a step must run again, or "".
func Again(s Step) string { return ask(s, Restless.Again) }

// open reports whether the written value of a leaves the choice to the machine.
func (a *Attr) open(args Args) bool {
	if a.Open == "" {
		return false
	}
	v := args.Get(a.Name)
	return !v.IsNull() && v.IsKnown() && v.RawEquals(cty.StringVal(a.Open))
}

// Settle replaces the values that the arguments leave to the machine, and
// returns the choices. Arguments without open values are returned unchanged.
func (k *Kind) Settle(args Args) (Args, []Choice, error) {
	if k.Choose == nil || !slices.ContainsFunc(k.Args, func(a Attr) bool { return a.open(args) }) {
		return args, nil, nil
	}
	choices, err := k.Choose(args)
	if err != nil {
		return args, nil, err
	}
	for _, c := range choices {
		args = args.with(c.Arg, c.Value)
	}
	return args, choices, nil
}

// SettleAs is like Settle with the given values by argument. Other arguments
// stay open.
func (k *Kind) SettleAs(args Args, values map[string]string, why string) (Args, []Choice) {
	var choices []Choice
	for i := range k.Args {
		a := &k.Args[i]
		if v, ok := values[a.Name]; ok && a.open(args) {
			args = args.with(a.Name, v)
			choices = append(choices, Choice{Arg: a.Name, Value: v, Why: why})
		}
	}
	return args, choices
}

// Recall replaces the values that the arguments leave to the machine or to the command
// by the choices of an earlier run, taken from the fields of its key.
func (k *Kind) Recall(args Args, fields []digest.Field) Args {
	for i := range k.Args {
		if a := &k.Args[i]; a.open(args) || a.ByCommand && args.Get(a.Name).IsNull() {
			for _, f := range fields {
				if f.Label == a.Name {
					args = args.with(a.Name, f.Value)
				}
			}
		}
	}
	return args
}

// with returns the arguments with a different value of a string argument.
func (a Args) with(name, value string) Args {
	a.values = slices.Clone(a.values)
	a.values[slices.Index(a.names, name)] = cty.StringVal(value)
	return a
}

// Estimate is the space that a step expects to need. It may be too high, but it
// should not be too low.
type Estimate struct {
	// CacheBytes is the amount that the step adds to the cache permanently.
	CacheBytes int64
	// PeakBytes is the maximum that it holds in addition: temporary files and
	// unfinished downloads.
	PeakBytes int64
	// Files is the number of objects that it adds, or 0 if unknown.
	Files int64
	// Known is false if the step cannot estimate. The numbers are then 0.
	Known bool
	// Basis describes the source of the numbers in one phrase.
	Basis string
}

// Bytes returns the maximum that the step holds at once.
func (e Estimate) Bytes() int64 { return e.CacheBytes + e.PeakBytes }

// Estimator is implemented by steps that add much to the cache. Estimate is
// fast and uses no network: plan calls it. Inputs that other steps have yet to
// make have no digest or size.
type Estimator interface{ Estimate() Estimate }

// Copy is content that a step copies before it starts.
type Copy struct {
	// Ref is the content, or zero if it is not known yet. Name describes its
	// origin.
	Ref  cache.Ref
	Name string
	// Shared means that steps with the same content use one copy, which may
	// already exist; see cache.Sharer.
	Shared bool
	// Why is the reason for the copy, as half a sentence.
	Why string
}

// Copier is implemented by steps whose copies take more time and space than
// their inputs suggest. Copies is fast and uses no network: plan calls it.
type Copier interface {
	Copies(ctx context.Context, store cache.Store) []Copy
}

// Spending is the possible spending of a step on a model. Costs are in
// billionths of a US dollar. 0 means no limit.
type Spending struct {
	// Model is the name of the model block. Models are the allowed models.
	Model    string   `json:"model"`
	Provider string   `json:"provider"`
	Models   []string `json:"models"`
	// Tools are the granted provider-side abilities. Uncounted are those whose
	// charges besides tokens are not part of Cost.
	Tools     []string `json:"tools,omitempty"`
	Uncounted []string `json:"uncounted_tools,omitempty"`
	// OwnPrices are the pipeline's prices that Cost counts with and that are not
	// those of mleflow's list.
	OwnPrices []string `json:"own_prices,omitempty"`
	// Cost, Tokens and Requests are the limits of the step.
	Cost     int64 `json:"cost_nanodollars,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	Requests int64 `json:"requests,omitempty"`
	// OneRequest is the maximum cost of a request without an output limit, if
	// it exceeds Cost or RunCost, so that no such request passes. Otherwise it
	// is 0.
	OneRequest int64 `json:"one_request_nanodollars,omitempty"`
	// RunCost is the limit of all steps of a run that use the block.
	RunCost int64 `json:"run_cost_nanodollars,omitempty"`
	// Replayed means that recordings answer and nothing is spent.
	Replayed bool `json:"replayed,omitempty"`
}

// Spender is implemented by steps that spend money. Spending is fast and uses
// no network: plan calls it.
type Spender interface{ Spending() []Spending }

// Finding is the answer to one question of a preflight.
type Finding string

// The findings. The empty one means that the question does not apply.
const (
	FindingOK      Finding = "ok"
	FindingMissing Finding = "missing"
	FindingUnknown Finding = "unknown"
)

// Preflight is a step's finding about its input before any work.
type Preflight struct {
	// Subject names the thing to fetch, such as a competition.
	Subject string
	// Place is its source, or "" if it is on this machine and there is nothing
	// to ask.
	Place string
	// Bytes and Files are the size of the transfer, or 0 if unknown.
	Bytes int64
	Files int
	// Credential reports whether there is a credential that the place accepts.
	// Rules reports whether the place's rules were accepted. Link is the
	// address for getting a missing one.
	Credential, Rules Finding
	Link              string
	// Note is an additional phrase for people.
	Note string
	// Estimate is the estimate in view of the finding.
	Estimate Estimate
}

// Preflighter is implemented by steps that fetch something. Preflight asks,
// before the first step runs, whether it is available, without fetching it. An
// error means that Run would fail. An error marked by Retryable means that it
// might.
type Preflighter interface {
	Preflight(ctx context.Context) (Preflight, error)
}
