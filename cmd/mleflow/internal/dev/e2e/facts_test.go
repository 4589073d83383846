package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
)

// A fact is what surfaces say of attempts and agents.
type fact string

const (
	// ofDistinct is the number of attempts, each once.
	ofDistinct fact = "distinct"
	// ofClasses are the classes with their letters.
	ofClasses fact = "classes"
	// The next are said of each attempt.
	ofEnd    fact = "end"
	ofReason fact = "reason"
	ofScore  fact = "score"
	ofMedal  fact = "medal"
	ofCost   fact = "cost"
	// ofSource says who measured the cost.
	ofSource fact = "source"
	// ofAside is what is not compared, and why; ofUnlisted is that of a board, on which
	// classes stand apart.
	ofAside    fact = "aside"
	ofUnlisted fact = "unlisted"
	// ofShare and ofPlace are any medal of each agent and its place, within the class.
	ofShare fact = "share"
	ofPlace fact = "place"
	// ofReach is what the agents could reach and read, as the class has it.
	ofReach fact = "reach"
	// ofDifference is the sentence that compares the two agents.
	ofDifference fact = "difference"
)

// facts are all of them.
var facts = []fact{ofDistinct, ofClasses, ofEnd, ofReason, ofScore, ofMedal, ofCost, ofSource, ofAside, ofUnlisted, ofShare, ofPlace, ofReach, ofDifference}

// perAttempt are the facts that stand in the row of each attempt.
var perAttempt = []fact{ofEnd, ofReason, ofScore, ofMedal, ofCost}

// answer is what a surface shows: all its text on one line, and its rows, of which one is of
// an attempt or an agent.
type answer struct {
	text string
	rows []string
}

// truth is what package results says of some attempts.
type truth struct {
	all []*results.Attempt
	own []*results.Attempt
	// aside is what is not compared with own, unlisted what no board has.
	aside, unlisted results.Aside
	sides           *results.Comparison
}

func truthOf(t *testing.T, list []*results.Attempt) *truth {
	t.Helper()
	of := func(agent string) results.Side {
		return results.Side{Name: agent, Attempts: slices.DeleteFunc(slices.Clone(list), func(a *results.Attempt) bool { return a.Agent != agent })}
	}
	x := &truth{all: results.Distinct(list)}
	x.own, _, x.aside = results.Selection{}.Comparable(list)
	_, x.unlisted = results.Listed(list)
	x.sides, _ = results.Compare(of("better"), of("worse"), "") // there may be nothing that both have
	return x
}

// wrong says which facts an answer lacks or has otherwise, of those that it should show.
func (x *truth) wrong(a answer, shows []fact) (faults []string) {
	fault := func(f fact, format string, args ...any) {
		faults = append(faults, string(f)+": "+fmt.Sprintf(format, args...))
	}
	has := func(f fact, of, text, pattern string) {
		if !regexp.MustCompile(`(?i)` + pattern).MatchString(text) {
			fault(f, "%s is not there as %s", of, pattern)
		}
	}
	for _, f := range shows {
		switch f {
		case ofDistinct:
			n := len(x.all)
			if len(a.rows) != n || a.text != "" {
				has(f, "the number", a.text, fmt.Sprintf(`\b%d( of %d|/%d)?( \w+){0,3} attempts?\b|attempts?\W{1,3}%[1]d\b`, n, n, n))
			}
		case ofClasses:
			for i, class := range x.classes() {
				if a.text != "" {
					has(f, class, a.text, `\b`+results.Letter(i)+`:? `+regexp.QuoteMeta(class)+`\W*?(\.|[A-Z]|$)`)
				} else if !slices.ContainsFunc(a.rows, func(row string) bool { return strings.Contains(row, class) }) {
					fault(f, "no row has the class %s", class)
				}
			}
		case ofAside:
			for _, aside := range []results.Aside{x.sides.FirstAside, x.sides.SecondAside} {
				has(f, "what is not compared", a.text, regexp.QuoteMeta(aside.String()))
			}
		case ofUnlisted:
			has(f, "what is not listed", a.text, regexp.QuoteMeta(x.unlisted.String()))
		case ofShare:
			for name, d := range map[string]float64{"better": float64(x.figure().First), "worse": float64(x.figure().Second)} {
				of := fmt.Sprintf(`\b%d \(%.0f%%\)`, x.medals(name), d) // the same without seeds
				has(f, name, strings.Join(a.rows, "\n"), `\b`+name+`\b[^\n]*(\b`+numeral(d)+`|`+of+`)`)
				if pooled := regexp.MustCompile(`\b` + name + `\b[^\n]*` + x.pooled(name)).FindString(strings.Join(a.rows, "\n")); pooled != "" {
					fault(f, "%s has medals of several classes together: %.200q", name, pooled)
				}
			}
		case ofPlace:
			has(f, "better", strings.Join(a.rows, "\n"), `(?m)^\W*(A\W*)?1\W.*\bbetter\b|\bplace\W+1\b[^\n]*\bbetter\b|\bbetter\b[^\n]*\bplace\W+1\b`)
		case ofReach:
			has(f, "isolation", a.text+strings.Join(a.rows, " "), regexp.QuoteMeta(conditions.NotIsolated)+`|isolation\W{1,3}none`)
			if regexp.MustCompile(`(?i)network\W{1,5}(none|allow)\b`).MatchString(a.text + strings.Join(a.rows, " ")) {
				fault(f, "the network is not open")
			}
		case ofSource:
			if n := len(slices.DeleteFunc(slices.Clone(a.rows), func(row string) bool { return !strings.Contains(row, "usage_source gateway") })); n != len(x.all) {
				fault(f, "%d of %d costs are the gateway's", n, len(x.all))
			}
		case ofDifference:
			sentence := regexp.QuoteMeta(x.sides.Sentence()) // where agents have a row for each class, it is with their names
			has(f, "the sentence", a.text, strings.Replace(sentence, "better is better than worse", `better( \([\w ]+\))? is better than worse( \([\w ]+\))?`, 1))
		}
	}
	for _, one := range x.all {
		x.attempt(a, one, shows, fault)
	}
	return faults
}

// interrupted is the attempt during which mleflow was killed.
func (p *plantation) interrupted() *results.Attempt {
	a := &results.Attempt{Agent: "worse", Seed: fmt.Sprint(hangs), Phase: results.Interrupted, RunID: p.killed}
	a.Report.CompetitionID = "demo-digits"
	return a
}

// attempt looks for an attempt among the rows, by its names. Several may have the same.
func (x *truth) attempt(a answer, one *results.Attempt, shows []fact, fault func(fact, string, ...any)) {
	at := slices.IndexFunc(perAttempt, func(f fact) bool { return slices.Contains(shows, f) })
	if at < 0 {
		return
	}
	agent, id := `\b`+one.Agent+`( \([\w ]+\))?\W+`, `\b`+one.Competition()+`\W+`
	names := regexp.MustCompile(agent + id + `(\w+\W+)?` + one.Seed + `\b|` + id + agent + one.Seed + `\b`)
	named := slices.DeleteFunc(slices.Clone(a.rows), func(row string) bool { return !names.MatchString(row) })
	if len(named) == 0 {
		fault(perAttempt[at], "no row of %s, %s, %s", one.Agent, one.Competition(), one.Seed)
		return
	}
	wants := map[fact]string{}
	ended, _ := one.Ended()
	wants[ofEnd] = `\b` + regexp.QuoteMeta(ended) + `\b`
	wants[ofReason] = regexp.QuoteMeta(one.Reason())
	if one.Report.Score != nil {
		wants[ofScore] = numeral(float64(*one.Report.Score))
	}
	if one.WithoutMedals() == "" {
		wants[ofMedal] = `\b` + results.Medal(one.Report)
	}
	if u := one.Made.Usage; u != nil && u.CostUSD != nil && *u.CostUSD > 0 {
		wants[ofCost] = numeral(*u.CostUSD)
	}
	for _, f := range shows {
		if want, ok := wants[f]; ok && !slices.ContainsFunc(named, func(row string) bool { return regexp.MustCompile(want).MatchString(row) }) {
			fault(f, "%s, %s, %s: no %s in %.300q", one.Agent, one.Competition(), one.Seed, want, named)
		}
	}
}

// pooled matches the medals of an agent in all classes together.
func (x *truth) pooled(agent string) string {
	medals, n := 0, 0
	for _, a := range x.all {
		if a.Graded && a.Agent == agent {
			n++
			medals += board.Count(results.Medal(a.Report) != "")
		}
	}
	percent := 100 * float64(medals) / float64(n)
	return fmt.Sprintf(`\b(%d of %d\b|%d/%d\b|%s|%.0f ?%%)`, medals, n, medals, n, regexp.QuoteMeta(fmt.Sprintf("%.1f", percent))+`\b`, percent)
}

// classes are those of attempts that count, in the order of their letters.
func (x *truth) classes() []string {
	return results.Classes(slices.DeleteFunc(slices.Clone(x.all), func(a *results.Attempt) bool { return a.Uncounted() != "" }))
}

// medals counts those of an agent in the class that is compared.
func (x *truth) medals(agent string) (n int) {
	for _, a := range x.own {
		n += board.Count(a.Agent == agent && results.Medal(a.Report) != "")
	}
	return n
}

// figure is any medal of the two agents, compared.
func (x *truth) figure() board.Difference { return x.sides.Figures["any_medal_percentage"] }

// numeral matches a number, whatever the zeros at its end.
func numeral(v float64) string {
	text := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.5f", v), "0"), ".")
	if strings.Contains(text, ".") {
		return regexp.QuoteMeta(text) + `0*\b`
	}
	return text + `(\.0+)?\b`
}

// TestFacts asks every surface for the same facts of a planted cache.
func TestFacts(t *testing.T) {
	p := plantCache(t)
	of := map[string]*truth{
		"main":    truthOf(t, p.collected(p.main)),
		"failing": truthOf(t, p.collected(p.failing)),
		"forked":  truthOf(t, p.collected(p.fork)),
		// An attempt that was killed has no record.
		"killed": truthOf(t, []*results.Attempt{p.interrupted()}),
	}
	all := p.collected(p.main, p.again, p.rehearsed, p.masked, p.origin, p.fork, p.failing)
	of["all"], of["seen"] = truthOf(t, all), truthOf(t, append(all, p.interrupted()))
	checkPlanted(t, of)
	surfaces := p.surfaces()
	t.Run("listed", func(t *testing.T) { checkListed(t, surfaces) })
	for _, s := range surfaces {
		t.Run(s.name, func(t *testing.T) {
			x := of[cmp.Or(s.of, "main")]
			if s.ask == nil {
				return
			}
			for _, fault := range x.wrong(s.ask(t), s.shows) {
				t.Error(fault)
			}
		})
	}
}

// checkPlanted holds that the cache has what the test is about.
func checkPlanted(t *testing.T, of map[string]*truth) {
	t.Helper()
	main, all := of["main"], of["all"]
	got := fmt.Sprint(len(main.all), len(results.Classes(main.all)), len(all.all), maps.Clone(all.aside))
	want := fmt.Sprint(21, 3, 28, results.Aside{"rehearsal": 2, "masked": 2, "fork": 1, "not final": 1, "under other conditions": 6})
	if got != want {
		t.Errorf("planted are %s, want %s", got, want)
	}
	ends := map[string]bool{}
	for _, a := range all.all {
		text, _ := a.Ended()
		ends[text] = true
	}
	if got := slices.Sorted(maps.Keys(ends)); fmt.Sprint(got) != "[agent failed invalid submission no submission provider failed scored scored, timed out timed out]" {
		t.Errorf("attempts ended as %q", got)
	}
	if main.sides.Class != all.sides.Class || main.figure().First <= main.figure().Second || len(main.sides.Won) == 0 {
		t.Errorf("compared are %+v", main.sides)
	}
}
