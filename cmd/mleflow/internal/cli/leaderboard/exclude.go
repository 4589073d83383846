package leaderboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/rules"
	"github.com/mleflow/mleflow/engine/diag"
)

// RuleFlags choose attempts by what rules found in them.
type RuleFlags struct{ Exclude []string }

// Register adds the flags.
func (f *RuleFlags) Register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.Exclude, "exclude-rule", nil, "leave out attempts in which the `RULE` of a check step found something, and name them; repeatable")
}

// Check sorts the rules and rejects those that are not known. Questions that a
// language model answers have any name.
func (f *RuleFlags) Check() error {
	known := RuleNames()
	for _, name := range f.Exclude {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "judge/") {
			return app.Usagef("--exclude-rule: there is no rule %q; there are %s, and judge/QUESTION.%s", name, strings.Join(known, ", "), diag.DidYouMean(name, known))
		}
	}
	slices.Sort(f.Exclude)
	f.Exclude = slices.Compact(f.Exclude)
	return nil
}

// RuleNames lists the rules that can be excluded.
func RuleNames() (names []string) {
	for _, r := range rules.All() {
		names = append(names, r.Name)
	}
	return names
}

// WithoutFound leaves out the records in which one of the rules found something,
// and tells which, and which were not checked.
func WithoutFound(a *app.App, f RuleFlags, records []export.Record) []export.Record {
	if len(f.Exclude) == 0 {
		return records
	}
	unchecked := 0
	kept := slices.DeleteFunc(records, func(r export.Record) bool {
		found := r.Check.Against(f.Exclude)
		if len(found) > 0 {
			tellExcluded(a, r.Address, found)
		} else if len(r.Check.Lacks(f.Exclude)) > 0 {
			unchecked++
		}
		return len(found) > 0
	})
	tellUnchecked(a, unchecked)
	return kept
}

func tellExcluded(a *app.App, address string, found []string) {
	fmt.Fprintf(a.Stderr, "%s %s: %s found something in it\n", a.ErrStyle().Warn("Left out:"), view.Text(address), strings.Join(found, ", "))
}

func tellUnchecked(a *app.App, n int) {
	if n > 0 {
		fmt.Fprintf(a.Stderr, "%s %s without a check by these rules\n", a.ErrStyle().Warn("Kept:"), view.Plural(n, "attempt"))
	}
}
