package site

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/audit"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// kindWords are the pages' words for kinds of findings.
var kindWords = map[Kind]string{
	Refused: "Refused:", OtherVersion: "Of another version:", Identity: "Name in doubt:", Shared: "Shared submission:", Duplicate: "Duplicate:", Selection: "Possible selection:", Unproven: "Tries not provable:", MixedTask: "Mixed tasks:", Suspicious: "Suspicious:", SetAside: "Not counted:", Misreported: "Other figures:",
}

// index is the first page.
func (s *Site) index() document {
	d := document{Title: s.Title, Version: s.Version}
	counted := 0
	for _, n := range s.Standings {
		counted += n
	}
	d.Lead = []string{"Every row is computed from bundles: files that hold what agents submitted, how it was graded, and under which conditions it was made."}
	d.Facts = []page.Fact{{Name: "agents", Value: strconv.Itoa(len(s.agents()))}, {Name: "attempts", Value: view.Count(int64(counted))}, {Name: "recomputed", Value: view.Count(int64(s.Standings[audit.Recomputed])), Class: "good"}}
	if n := s.Standings[Matched]; n > 0 {
		d.Facts = append(d.Facts, page.Fact{Name: "matched by digest", Value: view.Count(int64(n))})
	}
	if n := s.Standings[audit.Claimed]; n > 0 {
		d.Facts = append(d.Facts, page.Fact{Name: "only claimed", Value: view.Count(int64(n)), Class: "warn"})
	}
	if n := len(s.Findings); n > 0 {
		d.Facts = append(d.Facts, page.Fact{Name: "findings", Value: strconv.Itoa(n), Class: "bad"})
		d.Sections = append(d.Sections, s.findings(nil, "Look at these first"))
	}
	if s.Excluded != nil {
		d.Facts = append(d.Facts, page.Fact{Name: "left out by rule", Value: strconv.Itoa(s.Excluded.Rows), Class: "warn"})
		d.Sections = append(d.Sections, s.excluded())
	}
	for i, t := range s.Tables {
		d.Sections = append(d.Sections, t.section(i, len(s.Tables) > 1))
	}
	if len(s.Tables) == 0 {
		d.Sections = append(d.Sections, section{ID: "board", Title: "Leaderboard", Text: []string{"No row counts."}})
	}
	if len(s.Masked) > 0 {
		d.Sections = append(d.Sections, s.maskedSection())
	}
	if len(s.Reported) > 0 {
		d.Sections = append(d.Sections, s.publishedSection())
	}
	d.Sections = append(d.Sections, s.competitionsSection(), s.bundlesSection(), reading())
	for _, sec := range d.Sections {
		d.Anchors = append(d.Anchors, page.Link{Text: sec.Title, Address: "#" + sec.ID})
	}
	return d
}

// findings returns the findings on a subject, or all without one.
func (s *Site) findings(about func(Finding) bool, title string) section {
	sec := section{ID: "findings", Title: title}
	for _, f := range s.Findings {
		if about == nil || about(f) {
			head := kindWords[f.Kind] + " " + f.About + "."
			if len(f.Files) > 0 && !slices.Equal(f.Files, []string{f.About}) {
				head = kindWords[f.Kind] + " " + f.About + " (" + strings.Join(f.Files, ", ") + ")."
			}
			sec.Alarm = append(sec.Alarm, alarm{Head: head, Text: f.Text})
		}
	}
	return sec
}

// agents are the names of the agents on tables, sorted.
func (s *Site) agents() []string {
	var names []string
	for _, r := range s.rows {
		names = append(names, r.Agent)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Name names the rows of a table.
func (t *Table) Name() string {
	name := fmt.Sprintf("Task %s, version %s", t.Task, t.Version)
	if t.Unchecked {
		name += ", public data not checked"
	}
	return name
}

func (t *Table) section(i int, several bool) section {
	sec := section{ID: "board-" + strconv.Itoa(i+1), Title: "Leaderboard: " + t.Name()}
	if several {
		sec.Text = append(sec.Text, "Scores under other tasks or versions of competitions cannot be compared with these.")
	}
	if t.Unchecked {
		sec.Text = append(sec.Text, "Public data: not checked. Nothing shows that the agents were given the competition's files and no others; the answers may have been among them. "+
			"Build the board with the data of these competitions, in --data-dir, to compare them.")
	}
	if t.Task != "reference" {
		sec.Text = append(sec.Text, "The agents were not given MLE-bench's own texts, so these scores cannot be compared with published ones.")
	}
	sec.Text = append(sec.Text, conditions.Notes(t.Board.UnderConditions())...)
	sec.Grids = append(sec.Grids, t.ranking())
	sec.Text = append(sec.Text, t.classes()...)
	if aside := results.Uncounted(counting(t.rows)).String(); aside != "" {
		sec.Text = append(sec.Text, aside+".")
	}
	sec.Text = append(sec.Text, "Percentages of competitions, mean ± standard error over seeds. Intervals of any medal are of 95 %: over other runs at these competitions, and over other competitions and runs; a dash where a competition has a single run, or there are fewer than five. Places and tie groups are given within a class: attempts under equal conditions. Agents with equal results share a place. Agents of one tie group cannot be told apart from its first: "+
		"p of the exact permutation test of their medals, adjusted for all pairs of the class (Holm), is above 0.05. Equal agents are told apart in at most 5 % of boards.")
	if len(t.stops) > 0 {
		sec.Text = append(sec.Text, "Columns such as “… after 1h” are what stopping every attempt then would have given: the last submission that lay there, or the final one of attempts that had ended. "+
			"A dash means that it is not known, because no snapshots of an attempt were graded.")
	}
	if len(t.Agents) > 0 && len(t.Agents[0].Groups) > 1 {
		sec.Grids = append(sec.Grids, t.groups())
	}
	if len(t.Agents) > 1 {
		sec.Plots = append(sec.Plots, t.differences())
	}
	if p := t.costs(); p.Plot != "" {
		sec.Plots = append(sec.Plots, p)
	}
	return sec
}

func (a *Agent) conditions() (sets [][]string) {
	for _, r := range a.rows {
		sets = append(sets, r.Report.Conditions)
	}
	return sets
}

// inClass counts the agents of an agent's class.
func (t *Table) inClass(a *Agent) (n int) {
	for _, other := range t.Agents {
		if other.Class == a.Class {
			n++
		}
	}
	return n
}

// classes describes the classes of the table, with their letters.
func (t *Table) classes() (texts []string) {
	for _, class := range t.Board.Classes() {
		texts = append(texts, "Class "+letter(class[0])+": "+class[0].Class+".")
	}
	return texts
}

// rate writes a percentage of a group.
func rate(g aggregate.Group, name string) string { return percentage(g.Percentages, g.Seeds, name) }

func percentage(of board.Split, seeds int, name string) string {
	return page.RateOf(of, name, seeds).String()
}

func (t *Table) ranking() grid {
	names := []string{"Class", "Place", "Tie group", "Agent", ">Any medal %", ">95 %, other runs", ">95 %, other competitions"}
	for _, at := range t.stops {
		names = append(names, ">… after "+export.After(at))
	}
	names = append(names, ">Gold %", ">Above median %", ">Valid %", ">Competitions", ">Seeds", "Tries", "Checked", ">Running time (hours)", "Isolation", "Given besides the competition")
	if checked(t.rows) {
		names = append(names, "Rule checks")
	}
	g := newGrid("Leaderboard", append(names, "Models", ">Tokens", ">Cost, USD", ">Agent time")...)
	for _, a := range t.Agents {
		place, standings := a.place(), a.checked()
		isolation := entry{Text: a.Overall.Isolation}
		if a.Overall.Untrusted {
			isolation.Pill = "bad"
		}
		cells := []entry{text(letter(a.Agent)), text(place), text(strconv.Itoa(a.Group)), link(a.Name, a.path()), text(rate(a.Overall, shownFigure)), text(a.Measures[shownFigure].Runs.Text()), text(a.Measures[shownFigure].Competitions.Text())}
		for _, s := range a.Stopped {
			cells = append(cells, text(percentage(s.Percentages, a.Overall.Seeds, shownFigure)))
		}
		cells = append(cells, text(rate(a.Overall, "gold_medal_percentage")), text(rate(a.Overall, "above_median_percentage")), text(rate(a.Overall, "valid_submissions_percentage")),
			text(strconv.Itoa(len(a.Competitions))+" of "+strconv.Itoa(len(t.Board.Competitions()))), text(strconv.Itoa(a.Overall.Seeds)), a.Tries.entry(), standings, text(cmp.Or(conditions.Hours(a.conditions()...), "–")), isolation, a.outside())
		if checked(t.rows) {
			cells = append(cells, foundInAll(a.rows))
		}
		g.add(append(cells,
			text(cmp.Or(strings.Join(a.Models, " "), "–")), text(amount(a.Tokens, 0)), text(costOf(&a.used)), text(took(a.Seconds)))...)
	}
	return g
}

func took(seconds *float64) string {
	if seconds == nil {
		return "–"
	}
	return view.Duration(time.Duration(*seconds * float64(time.Second)))
}

// groups are the percentages with any medal by complexity.
func (t *Table) groups() grid {
	names := []string{"Agent"}
	for _, g := range t.Agents[0].Groups {
		names = append(names, ">"+g.Name+" ("+view.Plural(len(g.Competitions), "competition")+")")
	}
	out := newGrid("Any medal by complexity", names...)
	for _, a := range t.Agents {
		cells := []entry{link(a.Name, a.path())}
		for _, g := range a.Groups {
			cells = append(cells, text(rate(g, shownFigure)))
		}
		out.add(cells...)
	}
	return out
}

// differences draws the distances of agents from the head of their tie group.
func (t *Table) differences() plot {
	var rows []page.Estimate
	for _, a := range t.Agents[1:] {
		if a.Behind == nil {
			continue
		}
		d, ok := a.Behind.Figures[shownFigure]
		if !ok {
			continue
		}
		rows = append(rows, estimate(a.Name+" − "+a.Head, d, -1))
	}
	return plot{
		Title: "Difference from the first agent of the tie group", Plot: page.Intervals(rows, "difference in competitions with a medal, percentage points"),
		Note: intervalNote + " Adjusted p decides on tie groups.",
	}
}

const intervalNote = "All runs of both; competitions weigh the same. Intervals are of 95 %, over other runs at these competitions, or over other competitions and runs (marked *) where a competition has a single run. p is of the exact permutation test."

// estimate is a difference to draw, with a sign.
func estimate(name string, d board.Difference, sign float64) page.Estimate {
	e := page.Estimate{Name: name, Value: sign * float64(d.Difference), Note: "p " + board.PText(*d.P)}
	if d.AdjustedP != nil && *d.AdjustedP != *d.P {
		e.Note += ", adjusted " + board.PText(*d.AdjustedP)
	}
	i := d.Runs
	if i == nil {
		i, e.Note = d.Competitions, e.Note+" *"
	}
	if i != nil {
		e.Lower, e.Upper, e.Known = sign*float64(i.Lower), sign*float64(i.Upper), true
		if sign < 0 {
			e.Lower, e.Upper = e.Upper, e.Lower
		}
	}
	return e
}

// costOf writes a cost and what it rests on.
func costOf(u *results.Usage) string {
	if u == nil || u.CostUSD == nil {
		return "–"
	}
	return aggregate.CostText(u)
}

// costs draws the costs of agents against their results; empty if unknown for all.
func (t *Table) costs() plot {
	var dots []page.Dot
	for i, a := range t.Agents {
		if p, ok := a.Overall.Percentages[shownFigure]; ok && a.ListUSD != nil {
			dots = append(dots, page.Dot{Name: a.Name, X: *a.ListUSD, Y: float64(p.Mean), Color: i})
		}
	}
	return plot{Title: "Cost", Plot: page.Scatter(dots, "cost of all attempts, USD by list prices where they are known", "competitions with a medal, %")}
}

// leak names the collections that have labels of hidden rows, with the evidence of the first.
func (c *competition) leak() entry {
	if len(c.public) == 0 {
		return text("–")
	}
	var names []string
	for _, p := range c.public {
		names = append(names, p.Name+" ("+p.Covers+")")
	}
	return entry{Text: strings.Join(names, ", "), Link: c.public[0].Reference, Outside: true}
}

func (s *Site) competitionsSection() section {
	g := newGrid("Competitions", "Competition", "Identifier", "Complexity", ">Attempts", "Best score", "By", "Public labels")
	for _, c := range s.competitions() {
		g.add(link(c.title, competitionPath(c.id)), text(c.id), text(cmp.Or(string(s.catalog.Complexity(c.id)), "–")), text(strconv.Itoa(len(c.rows))), text(c.best()), text(c.by()), c.leak())
	}
	return section{ID: "competitions", Title: "Competitions", Grids: []grid{g}, Text: []string{"A best score is that of the attempts under the conditions that most attempts had."}}
}

func (s *Site) bundlesSection() section {
	g := newGrid("Bundles", "File", "Run", "Manifest, SHA-256", ">Rows", "Scores", "Signed by key", "mleflow", "Started")
	for _, b := range s.Bundles {
		if b.Refused != "" {
			state := entry{Text: "refused", Pill: "bad"}
			if b.OtherVersion {
				state = entry{Text: "of another version", Pill: "warn"}
			}
			g.add(text(b.File), text("–"), text("–"), text("0"), state, text("–"), text("–"), text("–"))
			continue
		}
		n := map[audit.Standing]int{}
		for _, r := range b.Rows {
			n[r.Verdict.Standing]++
		}
		scores := entry{Text: cmp.Or(standingText(n), "none"), Pill: "good"}
		if n[audit.Claimed] > 0 {
			scores.Pill = "warn"
		}
		if n[audit.Refused] > 0 {
			scores = entry{Text: fmt.Sprintf("%d refused", n[audit.Refused]), Pill: "bad"}
		}
		g.add(link(b.File, bundlePath(b)), text(b.Run), entry{Text: b.Manifest, Class: "mono"}, text(strconv.Itoa(len(b.Rows))), scores, text(cmp.Or(b.Signer[:min(len(b.Signer), 16)], "–")), text(b.Mleflow), text(page.Date(b.Started)))
	}
	return section{ID: "bundles", Title: "Bundles", Grids: []grid{g}}
}

// reading explains the words of the pages and how to check the figures.
func reading() section {
	return section{ID: "reading", Title: "How to read and check this", Text: []string{
		"Recomputed: the submission in the bundle was graded again while this board was built, with answers that the builder prepared, and gave the same report. " +
			"Matched by digest: by its key and report it is a grade that was recomputed for another row. Only claimed: the bytes and keys of the bundle are sound, but nobody graded it again here.",
		"Nothing shows that an agent ran as described, except that its bundle says so; a signature says who says so. What the attempts had besides their competition (environment, secrets, files, own model servers, recordings of models) could have held the answers. An agent that was not isolated could have read the answers; it is marked untrusted.",
		"Anyone with the bundles can build the same pages, byte for byte, and check each bundle:",
	}, Code: "mleflow verify FILE.bundle --regrade\nmleflow board build *.bundle -o site"}
}

// comparisonText compares an agent with the head of its tie group.
func comparisonText(a *Agent, c *board.Comparison) string {
	d, ok := c.Figures[shownFigure]
	if !ok {
		return ""
	}
	out := fmt.Sprintf("%s percentage points from %s (%s)", points(-float64(d.Difference)), a.Head, aggregate.Basis(*c))
	for _, i := range []struct {
		over string
		*board.Interval
	}{{"other runs", d.Runs}, {"other competitions and runs", d.Competitions}} {
		if i.Interval != nil {
			out += fmt.Sprintf(", 95 %% interval %s to %s over %s", points(-float64(i.Upper)), points(-float64(i.Lower)), i.over)
		}
	}
	return out + fmt.Sprintf(", p %s (at least %s), adjusted for all pairs %s.", board.PText(*d.P), board.PText(*d.SmallestP), board.PText(*d.AdjustedP))
}
