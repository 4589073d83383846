package site

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings.
const (
	// Refused: a bundle is damaged, does not follow from its own records, or has
	// a score that is wrong.
	Refused Kind = "refused"
	// OtherVersion: a bundle of another version of mleflow cannot be checked here.
	OtherVersion Kind = "other_version"
	// Identity: a name is used by others than its owner, or may be taken for another.
	Identity Kind = "identity"
	// Duplicate: the same attempt is in several bundles.
	Duplicate Kind = "duplicate"
	// Selection: attempts are missing or were repeated, so that those that are
	// here may have been chosen for their scores.
	Selection Kind = "selection"
	// Unproven: no chain counts the tries at attempts of a bundle.
	Unproven Kind = "tries_not_provable"
	// Shared: several agents made equal or nearly equal submissions.
	Shared Kind = "shared_submission"
	// MixedTask: one agent has attempts under several tasks or versions.
	MixedTask Kind = "mixed_task"
	// Suspicious: the audit marks the row.
	Suspicious Kind = "suspicious"
	// SetAside: a row does not count for another reason.
	SetAside Kind = "set_aside"
	// Misreported: the grading reports of a published row give other figures.
	Misreported Kind = "misreported"
)

// Finding is something that a reader must know.
type Finding struct {
	Kind Kind `json:"kind"`
	// About is the agent or the bundle.
	About string `json:"about"`
	Text  string `json:"text"`
	// Files are the bundles that it is found in.
	Files []string `json:"files"`
}

// checker finds the faults of a set of bundles.
type checker struct {
	bundles  []*Bundle
	rows     []*Row
	seeds    int
	findings []Finding
}

func (c *checker) find(kind Kind, about string, bundles []*Bundle, format string, args ...any) {
	files := lists.Of(bundles, func(b *Bundle) string { return b.File })
	slices.Sort(files)
	c.findings = append(c.findings, Finding{kind, about, fmt.Sprintf(format, args...), append([]string{}, slices.Compact(files)...)})
}

// check judges the rows of all bundles together.
func check(q Request) (rows []*Row, findings []Finding, lock *Lock) {
	c := &checker{bundles: slices.Clone(q.Bundles), seeds: q.Seeds}
	lock = c.name(q.Lock, q.Reported)
	slices.SortStableFunc(c.bundles, precedence)
	c.refused()
	c.duplicates()
	c.matched()
	c.marked()
	c.mixed()
	c.repeated()
	c.selected()
	c.shared()
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.About, b.About), cmp.Compare(a.Text, b.Text))
	})
	return c.rows, c.findings, lock
}

// findingKinds are the kinds of findings in the order of the pages, with their words for them.
var findingKinds = []struct {
	Kind
	words string
}{
	{Refused, "Refused:"}, {OtherVersion, "Of another version:"}, {Identity, "Name in doubt:"}, {Duplicate, "Duplicate:"}, {Selection, "Possible selection:"}, {Unproven, "Tries not provable:"},
	{Shared, "Shared submission:"}, {MixedTask, "Mixed tasks:"}, {Suspicious, "Suspicious:"}, {SetAside, "Not counted:"}, {Misreported, "Other figures:"},
}

// refused adds findings on wrong bundles and rows.
func (c *checker) refused() {
	for _, b := range c.bundles {
		switch {
		case b.OtherVersion:
			c.find(OtherVersion, b.File, []*Bundle{b}, "the bundle was not checked and counts for nothing: %s", b.Refused)
		case b.Refused != "":
			c.find(Refused, b.File, []*Bundle{b}, "the bundle is refused: %s", b.Refused)
		}
		for _, r := range b.Rows {
			if r.Verdict.Standing == verify.Refused {
				c.find(Refused, r.Agent, []*Bundle{b}, "%s is refused: %s", r.GradeAddress, r.Verdict.Why)
			}
		}
		for _, l := range b.Boards {
			if l.Standing == verify.Refused {
				c.find(Refused, b.File, []*Bundle{b}, "its leaderboard %s is refused: %s", l.Address, l.Why)
			}
		}
	}
}

// duplicates gathers the rows, each attempt once.
func (c *checker) duplicates() {
	first, again := map[string]*Row{}, map[[2]*Bundle]int{}
	for _, b := range c.bundles {
		for _, r := range b.Rows {
			was := first[r.identity()]
			switch {
			case r.Address == "":
				c.rows = append(c.rows, r) // no attempt, which does not count anyway
			case was == nil:
				first[r.identity()] = r
				c.rows = append(c.rows, r)
			case was.Bundle != b && was.Agent != r.Agent && precedence(was.Bundle, b) == 0:
				c.rows = append(c.rows, r) // nothing says which of two keys copied the other
			case was.Bundle != b:
				again[[2]*Bundle{was.Bundle, b}]++
			default: // graded twice in one run
				r.Aside = "the same attempt was graded by " + was.GradeAddress + ", too"
				c.rows = append(c.rows, r)
			}
		}
	}
	for _, pair := range slices.SortedFunc(maps.Keys(again), func(x, y [2]*Bundle) int {
		return cmp.Or(slices.Index(c.bundles, x[0])-slices.Index(c.bundles, y[0]), slices.Index(c.bundles, x[1])-slices.Index(c.bundles, y[1]))
	}) {
		c.find(Duplicate, pair[1].File, pair[:], "%s of %s are those of %s; they count once", view.Plural(again[pair], "attempt"), pair[1].File, pair[0].File)
	}
}

// matched raises claimed rows whose grade was recomputed for another row.
func (c *checker) matched() {
	graded := map[string]bool{}
	for _, r := range c.rows {
		if r.Verdict.Standing == verify.Recomputed {
			graded[r.GradeAction+r.ReportDigest] = true
		}
	}
	for _, r := range c.rows {
		if r.Verdict.Standing == verify.Claimed && graded[r.GradeAction+r.ReportDigest] {
			r.Verdict.Standing, r.Standing = Matched, string(Matched)
		}
	}
}

// marked adds findings on rows that the audit marks, and on rows without an attempt.
func (c *checker) marked() {
	for _, r := range c.rows {
		for _, flag := range r.Verdict.Flags {
			c.find(Suspicious, r.Agent, []*Bundle{r.Bundle}, "%s: %s", r.GradeAddress, flag)
		}
		if r.Aside != "" && r.Verdict.Standing != verify.Refused {
			c.find(SetAside, r.Agent, []*Bundle{r.Bundle}, "%s does not count: %s", r.GradeAddress, r.Aside)
		}
	}
}

// counted yields the rows that count, by agent.
func (c *checker) counted() map[string][]*Row {
	return lists.By(countedRows(c.rows), func(r *Row) string { return r.Agent })
}

// mixed adds findings on agents whose attempts are not comparable.
func (c *checker) mixed() {
	by := c.counted()
	for _, agent := range slices.Sorted(maps.Keys(by)) {
		tasks := lists.By(by[agent], func(r *Row) string { return r.setting().Task })
		if len(tasks) > 1 {
			parts := lists.Of(slices.Sorted(maps.Keys(tasks)), func(task string) string { return fmt.Sprintf("%d under %q", len(tasks[task]), task) })
			c.find(MixedTask, agent, bundlesOf(by[agent]), "its attempts were given different tasks: %s; they are on separate tables", strings.Join(parts, ", "))
		}
		at := lists.By(by[agent], (*Row).Competition)
		for _, id := range slices.Sorted(maps.Keys(at)) {
			versions := lists.By(at[id], func(r *Row) string { return r.Report.CompetitionVersion })
			// A masked version is made to be compared with the version that it masks.
			maps.DeleteFunc(versions, func(version string, _ []*Row) bool { return competitions.IsMasked(version) })
			if len(versions) > 1 {
				c.find(MixedTask, agent, bundlesOf(by[agent]), "its attempts at %s are at several versions: %s; they are on separate tables", id, strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
			}
		}
	}
}

func bundlesOf(rows []*Row) []*Bundle {
	return lists.Of(lists.Grouped(rows, func(r *Row) *Bundle { return r.Bundle }), func(of []*Row) *Bundle { return of[0].Bundle })
}

// trial is a task that an agent may try once.
type trial struct {
	Setting
	agent, competition, seed string
}

// repeated sets aside all attempts of an agent at a competition with one seed but
// the earliest.
func (c *checker) repeated() {
	count, bundles := map[string]int{}, map[string][]*Bundle{}
	seeded := slices.DeleteFunc(countedRows(c.rows), func(r *Row) bool { return r.Seed == "" })
	for _, list := range lists.Grouped(seeded, func(r *Row) trial { return trial{r.setting(), r.Agent, r.Report.CompetitionID, r.Seed} }) {
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b *Row) int {
			return cmp.Or(precedence(a.Bundle, b.Bundle), cmp.Compare(a.MadeIn, b.MadeIn), cmp.Compare(a.AttemptAction, b.AttemptAction), cmp.Compare(a.GradeAddress, b.GradeAddress))
		})
		for _, r := range list[1:] {
			r.Aside = fmt.Sprintf("seed %s at %s was tried before, in run %s", r.Seed, r.Report.CompetitionID, list[0].MadeIn)
		}
		agent := list[0].Agent
		count[agent] += len(list) - 1
		bundles[agent] = append(bundles[agent], bundlesOf(list)...)
	}
	for _, agent := range slices.Sorted(maps.Keys(count)) {
		c.find(Selection, agent, bundles[agent], "%s repeat a seed that was tried before; the earliest counts, not the best", view.Plural(count[agent], "attempt"))
	}
}

// selected looks for attempts that were made, or should have been, and are not
// here: those that somebody who shows only the best would leave out.
func (c *checker) selected() {
	runs := map[[2]string]bool{} // by key: a stranger's run of that name is another
	for _, b := range c.bundles {
		runs[[2]string{b.Signer, b.Run}] = true
	}
	for _, b := range c.bundles {
		c.earlier(b, func(run string) bool { return runs[[2]string{b.Signer, run}] })
		if e := b.Evaluation; e != nil && e.Selected() {
			c.find(Selection, b.File, []*Bundle{b}, "evaluation %s: %s", e.Name, e.Declaration())
		} else if e != nil && e.Unknown > 0 {
			c.find(Unproven, b.File, []*Bundle{b}, "evaluation %s: %s", e.Name, e.Declaration())
		}
		if n := len(b.Unmade); n > 0 {
			c.find(Selection, b.File, []*Bundle{b}, "its run has no result of %s, the first is %s", view.Plural(n, "planned attempt"), b.Unmade[0])
		}
		if n := len(b.Ungraded); n > 0 {
			c.find(Selection, b.File, []*Bundle{b}, "its run did not grade %s, the first is %s", view.Plural(n, "attempt"), b.Ungraded[0])
		}
	}
	by := c.counted()
	for _, agent := range slices.Sorted(maps.Keys(by)) {
		c.missingSeeds(agent, by[agent])
	}
}

// earlier adds findings on other attempts of the same agents in runs that are missing
// here.
func (c *checker) earlier(b *Bundle, here func(run string) bool) {
	if b.Disclosure == nil {
		return
	}
	if b.Chain != nil {
		for _, gap := range b.Chain.Gaps {
			c.find(Unproven, b.File, []*Bundle{b}, "%s", gap)
		}
	}
	var elsewhere []string
	for _, e := range slices.Concat(b.Disclosure.Earlier, b.Disclosure.Elsewhere) {
		if e.Attempts > 0 && !here(e.Run) {
			elsewhere = append(elsewhere, e.Run)
		}
	}
	slices.Sort(elsewhere)
	attempts, most := 0, 0
	for _, a := range b.Disclosure.Attempts {
		if n := b.Disclosure.Others(a.Address); n > 0 {
			attempts, most = attempts+1, max(most, n)
		}
	}
	if attempts > 0 && len(elsewhere) > 0 {
		c.find(Selection, b.File, []*Bundle{b}, "before %s, earlier runs made other attempts in their places or of the same agents at the same competitions, up to %d before one; these runs are not here: %s",
			view.Plural(attempts, "attempt"), most, plain.List(elsewhere))
		return
	}
	if b.Chain == nil {
		return
	}
	results := 0
	elsewhere = nil
	for _, run := range slices.Sorted(maps.Keys(b.Chain.Unpublished)) {
		if !here(run) {
			results, elsewhere = results+b.Chain.Unpublished[run], append(elsewhere, run)
		}
	}
	if results > 0 {
		c.find(Selection, b.File, []*Bundle{b}, "its chain counts %s of the same agents at the same competitions in runs that are not here: %s",
			view.Plural(results, "other result"), plain.List(elsewhere))
	}
}

// missingSeeds compares the seeds of an agent at each competition with 0, 1, 2 … up to
// its highest seed anywhere, and their number with the required one. An evaluation chooses
// how many seeds each competition has, so that its seeds are compared only with those at
// the same competition.
func (c *checker) missingSeeds(agent string, rows []*Row) {
	by, chosen, highest := map[string]map[int]bool{}, map[string]int{}, c.seeds-1
	for _, r := range rows {
		id := r.Report.CompetitionID
		if by[id] == nil {
			by[id] = map[int]bool{}
		}
		if n, err := strconv.Atoi(r.Seed); err == nil && n >= 0 {
			by[id][n] = true
			if r.Verdict.Evaluated {
				chosen[id] = max(chosen[id], n)
			} else {
				highest = max(highest, n)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		var missing []string
		highest := max(highest, chosen[id])
		count := highest + 1 - len(by[id])
		for n := 0; n <= highest && len(missing) < min(count, 5); n++ {
			if !by[id][n] {
				missing = append(missing, strconv.Itoa(n))
			}
		}
		switch {
		case len(by[id]) == 0 || count == 0:
		case count > 5:
			c.find(Selection, agent, bundlesOf(rows), "%s: %d seeds up to %d are missing, the first are %s", id, count, highest, strings.Join(missing, ", "))
		default:
			c.find(Selection, agent, bundlesOf(rows), "%s: missing seeds %s of 0 to %d", id, strings.Join(missing, ", "), highest)
		}
	}
}
