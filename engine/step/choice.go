package step

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

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

// Wanting is implemented by steps that can tell, before they run, which of
// their requirements this machine does not meet, such as a key. Missing returns
// half a sentence for each.
type Wanting interface{ Missing() []string }

// Missing returns the unmet requirements of a step.
func Missing(s Step) []string {
	if w, ok := s.(Wanting); ok {
		return w.Missing()
	}
	return nil
}

// Unmasking is implemented by steps with secrets that cannot be masked. Unmasked
// returns half a sentence for each.
type Unmasking interface{ Unmasked() []string }

// Unmasked returns the secrets of a step that cannot be masked.
func Unmasked(s Step) []string {
	if u, ok := s.(Unmasking); ok {
		return u.Unmasked()
	}
	return nil
}

// Durable is implemented by steps that can survive the loss of their machine. OnLoss
// says how, as half a sentence, or "" if they start from the beginning.
type Durable interface{ OnLoss() string }

// OnLoss returns what becomes of a step whose machine is lost, or "".
func OnLoss(s Step) string {
	if d, ok := s.(Durable); ok {
		return d.OnLoss()
	}
	return ""
}

// Restless is implemented by steps that may have to run although their result
// is in the cache, because a file of the pipeline that they write is missing.
// Again returns the reason as half a sentence, or "".
type Restless interface{ Again() string }

// Again returns the reason why a step must run again, or "".
func Again(s Step) string {
	if r, ok := s.(Restless); ok {
		return r.Again()
	}
	return ""
}

// open reports whether the written value of a leaves the choice to the machine.
func (a *Attr) open(args Args) bool {
	if a.Open == "" {
		return false
	}
	v := args.Get(a.Name)
	return !v.IsNull() && v.IsKnown() && v.RawEquals(cty.StringVal(a.Open))
}

// leavesOpen reports whether any argument leaves its value to the machine.
func (k *Kind) leavesOpen(args Args) bool {
	return slices.ContainsFunc(k.Args, func(a Attr) bool { return a.open(args) })
}

// Settle replaces the values that the arguments leave to the machine, and
// returns the choices. Arguments without open values are returned unchanged.
func (k *Kind) Settle(args Args) (Args, []Choice, error) {
	if k.Choose == nil || !k.leavesOpen(args) {
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
