package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// limited are the timeout, resources, retry and place of an instance, with what
// evaluating them found.
type limited struct {
	limits step.Limits
	retry  Retry
	on     string
	read   []reading
	diags  diag.List
}

// limits lists the expressions of the limits.
func (s *Step) limits() (all []hcl.Expression) {
	for _, e := range []hcl.Expression{s.Timeout, s.On} {
		if e != nil {
			all = append(all, e)
		}
	}
	return append(append(all, sortedExprs(s.Blocks["retry"])...), sortedExprs(s.Blocks["resources"])...)
}

// limits evaluates timeout, retry and resources of an instance.
func (x *expansion) limits(s *Step, ctx func() *hcl.EvalContext) limited {
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
	gpus, attempts := 0.0, 1.0
	m.whole("gpus", resources["gpus"], 0, &gpus)
	m.whole("attempts", retry["attempts"], 1, &attempts)
	set.limits.GPUs, set.retry.Tries = int(gpus), int(attempts)
	m.duration("backoff", retry["backoff"], "it is 1s", &set.retry.Backoff)
	m.duration("max_backoff", retry["max_backoff"], "it is 1m", &set.retry.MaxBackoff)
	set.read, set.diags = m.read, m.diags
	return set
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

func (m *metaEval) number(name string, e hcl.Expression, dst *float64) {
	v, ok := m.value(name, e, cty.Number, "a number")
	if !ok {
		return
	}
	f, _ := v.AsBigFloat().Float64()
	if f <= 0 || math.IsInf(f, 0) {
		m.wrong(name, e, fmt.Sprintf("a number above 0; without %s it is %g", name, *dst))
		return
	}
	*dst = f
}

func (m *metaEval) whole(name string, e hcl.Expression, least float64, dst *float64) {
	v, ok := m.value(name, e, cty.Number, "an integer")
	if !ok {
		return
	}
	f, _ := v.AsBigFloat().Float64()
	if f < least || f != math.Trunc(f) || f > 1e6 {
		m.wrong(name, e, fmt.Sprintf("an integer of at least %g", least))
		return
	}
	*dst = f
}

// duration reads a time; absent says what there is without one.
func (m *metaEval) duration(name string, e hcl.Expression, absent string, dst *time.Duration) {
	want := "a duration such as \"90s\", \"24h\" or \"2d\", above 0; without " + name + " " + absent
	v, ok := m.value(name, e, cty.String, want)
	if !ok {
		return
	}
	d, err := parseDuration(v.AsString())
	if err != nil || d <= 0 {
		m.wrong(name, e, want)
		return
	}
	*dst = d
}

func (m *metaEval) bytes(name string, e hcl.Expression, dst *int64) {
	want := "a size such as \"16GiB\" or \"500MB\", above 0; without " + name + " nothing is reserved and resources set no limit"
	v, ok := m.value(name, e, cty.String, want)
	if !ok {
		return
	}
	n, err := step.ParseBytes(v.AsString())
	if err != nil || n == 0 {
		m.wrong(name, e, want)
		return
	}
	*dst = n
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
