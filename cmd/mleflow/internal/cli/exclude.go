package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/rules"
	"github.com/mleflow/mleflow/engine/diag"
)

// ruleFlags choose attempts by what rules found in them.
type ruleFlags struct{ exclude []string }

func (f *ruleFlags) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.exclude, "exclude-rule", nil, "leave out attempts in which the `RULE` of a check step found something, and name them; repeatable")
}

// check sorts the rules and rejects those that are not known. Questions that a
// language model answers have any name.
func (f *ruleFlags) check() error {
	known := ruleNames()
	for _, name := range f.exclude {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "judge/") {
			return usagef("--exclude-rule: there is no rule %q; there are %s, and judge/QUESTION.%s", name, strings.Join(known, ", "), diag.DidYouMean(name, known))
		}
	}
	slices.Sort(f.exclude)
	f.exclude = slices.Compact(f.exclude)
	return nil
}

func ruleNames() (names []string) {
	for _, r := range rules.All() {
		names = append(names, r.Name)
	}
	return names
}

// withoutFound leaves out the records in which one of the rules found something,
// and tells which, and which were not checked.
func (a *app) withoutFound(f ruleFlags, records []export.Record) []export.Record {
	if len(f.exclude) == 0 {
		return records
	}
	unchecked := 0
	kept := slices.DeleteFunc(records, func(r export.Record) bool {
		found := r.Check.Against(f.exclude)
		if len(found) > 0 {
			a.tellExcluded(r.Address, found)
		} else if len(r.Check.Lacks(f.exclude)) > 0 {
			unchecked++
		}
		return len(found) > 0
	})
	a.tellUnchecked(unchecked)
	return kept
}

func (a *app) tellExcluded(address string, found []string) {
	fmt.Fprintf(a.stderr, "%s %s: %s found something in it\n", a.errStyle().Warn("Left out:"), view.Text(address), strings.Join(found, ", "))
}

func (a *app) tellUnchecked(n int) {
	if n > 0 {
		fmt.Fprintf(a.stderr, "%s %s without a check by these rules\n", a.errStyle().Warn("Kept:"), view.Plural(n, "attempt"))
	}
}
