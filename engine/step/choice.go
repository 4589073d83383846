package step

import (
	"maps"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
)

// Choice is the value that a kind chose for an argument which leaves it to the
// machine; see Attr.Open.
type Choice struct {
	// Arg is the argument's name, Value what takes the place of what is written.
	Arg   string `json:"argument"`
	Value string `json:"value"`
	// Why is why, half a sentence.
	Why string `json:"why"`
	// Warning is what everybody must read before anything runs; empty if there
	// is nothing.
	Warning string `json:"-"`
}

// Wanting is implemented by steps that can tell, before they run, what they need and
// this machine lacks, such as a key: half a sentence each.
type Wanting interface{ Missing() []string }

// Missing returns what a step says that it lacks.
func Missing(s Step) []string {
	if w, ok := s.(Wanting); ok {
		return w.Missing()
	}
	return nil
}

// Restless is implemented by steps that may have to run although their result is in the
// cache, since a file of the pipeline that they write is missing. Again says why, half a
// sentence, or nothing.
type Restless interface{ Again() string }

// Again returns why a step must run again, "" if it need not.
func Again(s Step) string {
	if r, ok := s.(Restless); ok {
		return r.Again()
	}
	return ""
}

// open reports whether what is written for a leaves the value to the machine.
func (a *Attr) open(object cty.Value) bool {
	if a.Open == "" {
		return false
	}
	v := object.GetAttr(a.Name)
	return !v.IsNull() && v.IsKnown() && v.RawEquals(cty.StringVal(a.Open))
}

// leavesOpen reports whether any argument leaves its value to the machine.
func (k *Kind) leavesOpen(args Args) bool {
	for i := range k.Args {
		if k.Args[i].open(args.Value) {
			return true
		}
	}
	return false
}

// Settle returns the arguments with a value in place of whatever they leave to
// the machine, and what was chosen. Arguments that leave nothing are returned as
// they are.
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

// SettleAs is Settle with values that are given by argument. What has none is
// left open.
func (k *Kind) SettleAs(args Args, values map[string]string, why string) (Args, []Choice) {
	var choices []Choice
	for i := range k.Args {
		a := &k.Args[i]
		if v, ok := values[a.Name]; ok && a.open(args.Value) {
			args = args.with(a.Name, v)
			choices = append(choices, Choice{Arg: a.Name, Value: v, Why: why})
		}
	}
	return args, choices
}

// Recall returns the arguments with what an earlier run chose, by the fields of
// its key, in place of whatever they leave to the machine.
func (k *Kind) Recall(args Args, fields []digest.Field) Args {
	for i := range k.Args {
		if a := &k.Args[i]; a.open(args.Value) {
			for _, f := range fields {
				if f.Label == a.Name {
					args = args.with(a.Name, f.Value)
				}
			}
		}
	}
	return args
}

// with returns the arguments with another value of a string argument.
func (a Args) with(name, value string) Args {
	object := maps.Clone(a.Value.AsValueMap())
	object[name] = cty.StringVal(value)
	a.Value = cty.ObjectVal(object)
	return a
}
