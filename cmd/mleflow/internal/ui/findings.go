package ui

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/steps/check"
)

// checkKind is the kind of the steps that apply rules to attempts.
const checkKind = "check"

// findings holds the findings of an attempt's rule checks.
type findings struct {
	// Step is the step that checked, Missing why there is nothing to show.
	Step, Link, Missing string
	Rules               int
	Rows                []finding
	Unread              []string
}

type finding struct {
	Rule, Severity, Where, Excerpt, Explanation string
	Bad                                         bool
}

// maxFindings bounds the report of a check.
const maxFindings = 4 << 20

// findings reads the findings of the step that checks this attempt.
func (o *one) findings() (f findings) {
	name := o.m.checks[o.address]
	if name == "" {
		f.Missing = "No rule checks were run on this attempt. A step of kind check does."
		return f
	}
	f.Step, f.Link = name, stepAddress(o.sum.ID, name, "")
	s := o.m.sums.Step(name)
	if s == nil || s.Outputs["findings"] == "" {
		f.Missing = "The rule checks have not finished."
		return f
	}
	_, sum, _ := strings.Cut(s.Outputs["findings"], ":")
	id, err := digest.ParseContentID(sum)
	var text []byte
	if err == nil {
		text, err = cache.Get(o.ctx, o.store, id, maxFindings)
	}
	var r check.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		f.Missing = lost("report of the rule checks", err)
		return f
	}
	f.Rules, f.Unread = len(r.Rules), r.Unread
	for _, e := range r.Findings {
		where := e.File
		if e.Line > 0 {
			where = fmt.Sprintf("%s:%d", e.File, e.Line)
		}
		if e.Place != "" {
			where += " (" + e.Place + ")"
		}
		f.Rows = append(f.Rows, finding{oneLine(e.Rule, 100), oneLine(string(e.Severity), 20), oneLine(where, 300), oneLine(e.Excerpt, 300), oneLine(e.Explanation, 500), e.Severity == evidence.Warning})
	}
	return f
}
