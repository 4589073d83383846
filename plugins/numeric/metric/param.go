package metric

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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

var (
	paramKindNames = [...]string{"number", "string", "bool", "list of strings"}
	paramTypes     = [...]any{0.0, "", false, []string(nil)}
)

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

// HCL returns the arguments as a grade block has them.
func (a Args) HCL() string {
	pairs := lists.OfMap(a, func(name string, v any) string {
		text, err := json.Marshal(v) // HCL writes these values as JSON does
		if err != nil {
			panic(err)
		}
		return name + " = " + string(text)
	})
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// Build makes the scorer of the named metric. Arguments are checked against
// the metric's parameters: an unknown one, a wrong type and a missing one are
// errors; the ones left out get their defaults.
func (r *Registry) Build(name string, args Args) (Scorer, error) {
	m, err := r.Get(name)
	if err != nil {
		return nil, err
	}
	var s Scorer
	full, err := m.complete(args)
	if err == nil {
		s, err = m.New(full)
	}
	if err != nil {
		return nil, fmt.Errorf("metric %q: %w", name, err)
	}
	return s, nil
}

func (m Metric) complete(args Args) (Args, error) {
	full := make(Args, len(m.Params))
	for _, p := range m.Params {
		v := p.value(args)
		if v == nil {
			return nil, fmt.Errorf("parameter %q (%s) is missing: %s", p.Name, p.Kind, p.Doc)
		}
		if err := p.check(v); err != nil {
			return nil, err
		}
		full[p.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, ok := full[name]; !ok {
			known := strings.Join(lists.Of(m.Params, func(p Param) string { return p.Name }), ", ")
			return nil, fmt.Errorf("no parameter is named %q (known: %s)", name, cmp.Or(known, "none"))
		}
	}
	return full, nil
}

// value returns the argument of the parameter, or its default.
func (p Param) value(args Args) any {
	if v, given := args[p.Name]; given {
		return v
	}
	return p.Default
}

func (p Param) check(v any) error {
	if reflect.TypeOf(v) != reflect.TypeOf(paramTypes[p.Kind]) {
		return fmt.Errorf("parameter %q must be a %s", p.Name, p.Kind)
	}
	if text, _ := v.(string); p.OneOf != nil && !slices.Contains(p.OneOf, text) {
		return fmt.Errorf("parameter %q is %q: it must be one of %s", p.Name, text, strings.Join(p.OneOf, ", "))
	}
	return nil
}

func (a Args) number(name string) float64 { v, _ := a[name].(float64); return v }
func (a Args) text(name string) string    { v, _ := a[name].(string); return v }
func (a Args) bool(name string) bool      { v, _ := a[name].(bool); return v }
func (a Args) texts(name string) []string { v, _ := a[name].([]string); return v }

// Placeholders are made-up cells for answer columns whose values a submission does not
// determine. The validity check grades against them, in turn. Keys are columns of the
// answers, or parameters that name one; "" is the target column if it is spelled
// differently.
type Placeholders map[string][]string

// PlaceholdersFor returns the cells for a column of the answers; nil if the metric has none.
func (m Metric) PlaceholdersFor(args Args, column string) []string {
	for _, p := range m.Params {
		named := false
		switch v := p.value(args).(type) {
		case string:
			named = v == column
		case []string:
			named = slices.Contains(v, column)
		}
		if cells, ok := m.Placeholders[p.Name]; ok && named {
			return cells
		}
	}
	return m.Placeholders[column]
}

// shapes are the parameters that name columns of the answers about the task rather than
// its solution: the size of a picture, the group of a row.
var shapes = []string{"group", "height", "width"}

// Shape returns the columns of the answers that say how large pictures are and how rows
// are grouped. They are public knowledge; no label is among them.
func (m Metric) Shape(args Args) (columns []string) {
	for _, p := range m.Params {
		if name, _ := p.value(args).(string); name != "" && slices.Contains(shapes, p.Name) {
			columns = append(columns, name)
		}
	}
	return columns
}
