package metric

import (
	"fmt"
	"slices"
	"strings"
)

// ParamKind is the type of a parameter's value.
type ParamKind uint8

// The kinds, with the Go type of the value in Args.
const (
	NumberParam ParamKind = iota // float64
	TextParam                    // string
	BoolParam                    // bool
	TextsParam                   // []string
)

var paramKindNames = [...]string{"number", "string", "bool", "list of strings"}

// String names the kind as documentation does.
func (k ParamKind) String() string { return paramKindNames[k] }

// A Param describes one parameter of a metric.
type Param struct {
	Name    string
	Kind    ParamKind
	Doc     string
	Default any      // nil: the parameter must be given
	OneOf   []string // for strings: the values allowed, nil for any
}

// Args are the values of a metric's parameters by name.
type Args map[string]any

// Build makes the scorer of the named metric. Arguments are checked against
// the metric's parameters: an unknown one, a wrong type and a missing one are
// errors; the ones left out get their defaults.
func (r *Registry) Build(name string, args Args) (Scorer, error) {
	m, err := r.Get(name)
	if err != nil {
		return nil, err
	}
	full, err := m.complete(args)
	if err != nil {
		return nil, fmt.Errorf("metric %q: %w", name, err)
	}
	s, err := m.New(full)
	if err != nil {
		return nil, fmt.Errorf("metric %q: %w", name, err)
	}
	return s, nil
}

func (m Metric) complete(args Args) (Args, error) {
	full := make(Args, len(m.Params))
	for _, p := range m.Params {
		v, ok := args[p.Name]
		if !ok {
			if p.Default == nil {
				return nil, fmt.Errorf("parameter %q (%s) is missing: %s", p.Name, p.Kind, p.Doc)
			}
			v = p.Default
		}
		if err := p.check(v); err != nil {
			return nil, err
		}
		full[p.Name] = v
	}
	for name := range args {
		if _, ok := full[name]; !ok {
			return nil, fmt.Errorf("no parameter is named %q (known: %s)", firstUnknown(args, full), m.paramNames())
		}
	}
	return full, nil
}

func firstUnknown(args, known Args) string {
	var unknown []string
	for name := range args {
		if _, ok := known[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	return slices.Min(unknown)
}

func (m Metric) paramNames() string {
	if len(m.Params) == 0 {
		return "none"
	}
	names := make([]string, len(m.Params))
	for i, p := range m.Params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func (p Param) check(v any) error {
	ok := false
	switch x := v.(type) {
	case float64:
		ok = p.Kind == NumberParam
	case bool:
		ok = p.Kind == BoolParam
	case []string:
		ok = p.Kind == TextsParam
	case string:
		ok = p.Kind == TextParam
		if ok && p.OneOf != nil && !slices.Contains(p.OneOf, x) {
			return fmt.Errorf("parameter %q is %q: it must be one of %s", p.Name, x, strings.Join(p.OneOf, ", "))
		}
	}
	if !ok {
		return fmt.Errorf("parameter %q must be a %s", p.Name, p.Kind)
	}
	return nil
}

func (a Args) number(name string) float64 { v, _ := a[name].(float64); return v }
func (a Args) text(name string) string    { v, _ := a[name].(string); return v }
func (a Args) bool(name string) bool      { v, _ := a[name].(bool); return v }
func (a Args) texts(name string) []string { v, _ := a[name].([]string); return v }
