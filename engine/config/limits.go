package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// limited are the timeout, resources, retry and place of an instance, and the
// marked values that they were made from.
type limited struct {
	limits step.Limits
	retry  Retry
	on     string
	read   []reading
}

// limits lists the expressions of the limits.
func (s *Step) limits() []hcl.Expression {
	return slices.Concat(written(s.Timeout, s.On), sortedExprs(s.Blocks["retry"]), sortedExprs(s.Blocks["resources"]))
}

// limits evaluates timeout, retry and resources of an instance.
func (x *expansion) limits(s *Step, ctx func() *hcl.EvalContext) (limited, diag.List) {
	m := metaEval{ev: x.evaluator, ctx: ctx}
	set := limited{limits: step.Limits{CPUs: 1}, retry: Retry{Tries: 1, Backoff: time.Second, MaxBackoff: time.Minute}}
	resources, retry := s.Blocks["resources"], s.Blocks["retry"]
	m.duration("timeout", s.Timeout, "there is no limit", &set.limits.Timeout)
	m.number("cpus", resources["cpus"], &set.limits.CPUs)
	m.bytes("memory", resources["memory"], &set.limits.MemoryBytes)
	m.bytes("disk", resources["disk"], &set.limits.DiskBytes)
	if v, ok := m.value("on", s.On, cty.String, "the name of a backend or \"local\""); ok {
		set.on = v.AsString()
	}
	m.whole("gpus", resources["gpus"], 0, &set.limits.GPUs)
	m.whole("attempts", retry["attempts"], 1, &set.retry.Tries)
	m.duration("backoff", retry["backoff"], "it is 1s", &set.retry.Backoff)
	m.duration("max_backoff", retry["max_backoff"], "it is 1m", &set.retry.MaxBackoff)
	set.read = m.read
	return set, m.diags
}

type metaEval struct {
	ev    *evaluator
	ctx   func() *hcl.EvalContext
	read  []reading
	diags diag.List
}

// value returns the expression's value converted to ty; ok is false if it is
// absent, null or wrong.
func (m *metaEval) value(name string, e hcl.Expression, ty cty.Type, want string) (cty.Value, bool) {
	if e == nil {
		return cty.NilVal, false
	}
	v, diags := m.ev.evaluate(e, m.ctx())
	m.diags = append(m.diags, diags...)
	if diags.HasErrors() {
		return cty.NilVal, false
	}
	r := reading{name, e, map[any]struct{}{}}
	v = unmark(v, r.marks)
	if what := hidden(r.marks); what != "" {
		m.diags = append(m.diags, diag.Error(e.Range(), "Private content in "+name, "%s is made from %s, which is private, and would be stored and shown. Use a value that is not made from it.", name, what))
		return cty.NilVal, false
	}
	if len(r.marks) > 0 {
		m.read = append(m.read, r)
	}
	if !v.IsWhollyKnown() {
		m.wrong(name, e, want+", and known before anything runs")
		return cty.NilVal, false
	}
	out, err := convert.Convert(v, ty)
	if err != nil {
		m.wrong(name, e, want)
		return cty.NilVal, false
	}
	return out, !out.IsNull()
}

func (m *metaEval) wrong(name string, e hcl.Expression, want string) {
	m.diags = append(m.diags, diag.Error(e.Range(), "Invalid "+name, "%s must be %s.", name, want))
}

// store stores the value of an expression in dst, if read accepts it. wanted says what
// its type must be, and exactly what read accepts.
func store[T any](m *metaEval, name string, e hcl.Expression, ty cty.Type, wanted, exactly string, dst *T, read func(cty.Value) (T, bool)) {
	v, ok := m.value(name, e, ty, wanted)
	if !ok {
		return
	}
	got, ok := read(v)
	if !ok {
		m.wrong(name, e, exactly)
		return
	}
	*dst = got
}

func (m *metaEval) number(name string, e hcl.Expression, dst *float64) {
	store(m, name, e, cty.Number, "a number", fmt.Sprintf("a number above 0; without %s it is %g", name, *dst), dst, func(v cty.Value) (float64, bool) {
		f, _ := v.AsBigFloat().Float64()
		return f, f > 0 && !math.IsInf(f, 0)
	})
}

func (m *metaEval) whole(name string, e hcl.Expression, least int, dst *int) {
	store(m, name, e, cty.Number, "an integer", fmt.Sprintf("an integer of at least %d", least), dst, func(v cty.Value) (int, bool) {
		f, _ := v.AsBigFloat().Float64()
		return int(f), f >= float64(least) && f == math.Trunc(f) && f <= 1e6
	})
}

// duration reads a time; absent says what there is without one.
func (m *metaEval) duration(name string, e hcl.Expression, absent string, dst *time.Duration) {
	want := "a duration such as \"90s\", \"24h\" or \"2d\", above 0; without " + name + " " + absent
	store(m, name, e, cty.String, want, want, dst, func(v cty.Value) (time.Duration, bool) {
		d, err := parseDuration(v.AsString())
		return d, err == nil && d > 0
	})
}

func (m *metaEval) bytes(name string, e hcl.Expression, dst *int64) {
	want := "a size such as \"16GiB\" or \"500MB\", above 0; without " + name + " nothing is reserved and resources set no limit"
	store(m, name, e, cty.String, want, want, dst, func(v cty.Value) (int64, bool) {
		n, err := step.ParseBytes(v.AsString())
		return n, err == nil && n != 0
	})
}

// parseDuration is time.ParseDuration that also accepts integer or fractional
// days, such as "2d".
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || math.IsNaN(n) || math.Abs(n) > 36500 {
			return 0, fmt.Errorf("parse duration %q: the number of days before the d is missing", s)
		}
		return time.Duration(n * float64(24*time.Hour)), nil
	}
	return time.ParseDuration(s)
}
