package attempts

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// Name is how people name an attempt: agent/competition/seed.
func Name(a *results.Attempt) string {
	return strings.Join([]string{a.Agent, a.Competition(), a.Seed}, "/")
}

// Names are the keys of the attempts of a run: their names or, where several have the same,
// their addresses.
func Names(list []*results.Attempt) []string {
	of, count := lists.Of(list, Name), map[string]int{}
	for _, name := range of {
		count[name]++
	}
	for i, a := range list {
		if count[of[i]] > 1 {
			of[i] = cmp.Or(a.Address, a.GradeAddress)
		}
	}
	return of
}

// Of returns the attempts of a run as its journal has them, and what happened to its
// steps.
func Of(past *history.Past) ([]*results.Attempt, *history.Summary, error) {
	sum, err := past.Summary()
	if err != nil {
		return nil, nil, err
	}
	p, err := past.Plan()
	if err != nil {
		return nil, nil, err
	}
	j := JournalOf(p, sum)
	list, checks := j.List(), checksOf(p, j.Step)
	for _, a := range list {
		a.Check = checks[a.Address]
	}
	return list, sum, nil
}

// checksOf says of attempts whether the journal has warnings of rule checks. The rules are
// in the records.
func checksOf(p *plan.Plan, step func(address string) *history.StepSummary) map[string]*results.Check {
	checks := map[string]*results.Check{}
	for _, s := range p.Steps {
		attempt := AttemptOf(p, s)
		if s.Kind != conditions.CheckKind || attempt == "" || !ended(step(s.Name)) {
			continue
		}
		c := &results.Check{}
		if n, err := strconv.Atoi(step(s.Name).Outputs["warnings"]); err != nil || n > 0 {
			c.Findings = []evidence.Finding{{Rule: "check", Severity: evidence.Warning, File: s.Name, Explanation: "mleflow logs RUN " + s.Name + " shows the warnings"}}
		}
		checks[attempt] = checks[attempt].Join(c)
	}
	return checks
}

// Find returns the attempts that a key names, at least one: agent/competition/seed or the
// address of a step, with * for anything. The address of a block names all its attempts. Of
// several lists the first counts in which the key names any. The error of a key that names
// none says what there is.
func Find(key string, among ...[]*results.Attempt) ([]*results.Attempt, error) {
	like, err := regexp.Compile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(key), `\*`, ".*") + "$")
	if err != nil {
		return nil, fmt.Errorf("%.80q names no attempt: %w", key, err)
	}
	address := key
	if parsed, err := addr.Parse(key); err == nil {
		address = parsed.String()
	}
	for _, list := range among {
		for _, is := range []func(string) bool{
			func(s string) bool { return s != "" && s == address },
			func(s string) bool { return strings.HasPrefix(s, address+"[") || s != "" && like.MatchString(s) },
		} {
			found := lists.Where(list, func(a *results.Attempt) bool { return is(Name(a)) || is(a.Address) || is(a.GradeAddress) })
			if len(found) > 0 {
				return found, nil
			}
		}
	}
	if len(among[0]) == 0 {
		return nil, fmt.Errorf("%.80q names no attempt: there is none", key)
	}
	near := diag.DidYouMean(key, Names(among[0]))
	return nil, fmt.Errorf("no attempt is called %.80q.%s Write AGENT/COMPETITION/SEED or an address, with * for anything; there is %s", key, near, listed(among[0]))
}

// One returns the attempt that a key names; see Find. It is an error if there are several.
func One(key string, among ...[]*results.Attempt) (*results.Attempt, error) {
	found, err := Find(key, among...)
	if err == nil && len(found) > 1 {
		err = fmt.Errorf("%q names %d attempts, and one is needed: write %s", key, len(found), listed(found))
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// mostListed is the most attempts that an error lists.
const mostListed = 10

// listed lists the keys of attempts.
func listed(list []*results.Attempt) string {
	of := Names(list)
	text := strings.Join(of[:min(len(of), mostListed)], ", ")
	return view.OneLine(text) + view.When(len(of) > mostListed, fmt.Sprintf(" and %d more", len(of)-mostListed))
}
