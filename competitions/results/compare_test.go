package results

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// side has attempts with keys of their own.
func side(name string, list ...*Attempt) Side {
	s := Side{Name: name}
	for i, a := range list {
		s.Attempts = append(s.Attempts, a.with(func(a *Attempt) {
			if a.AttemptAction == "" {
				a.AttemptAction = fmt.Sprint(name, "/", i)
			}
		}))
	}
	return s
}

// TestSentence says a comparison in words.
func TestSentence(t *testing.T) {
	at := func(competition string, score float64, medal bool) *Attempt {
		return made("", "", competition, short).score(score, medal)
	}
	three := func(competition string, score float64, medal bool) []*Attempt {
		return []*Attempt{at(competition, score, medal), at(competition, score, medal), at(competition, score, medal)}
	}
	lower := func(a *Attempt) { a.Report.LowerIsBetter = true }
	unranked := func(a *Attempt) { a.Report.Gold, a.Report.Teams = grading.Cutoff(math.NaN()), 0 }
	scoreless := func(a *Attempt) { a.Report.Score, a.Report.ExactScore, a.Report.ValidSubmission = nil, nil, false }
	same := at("c", 1, true).with(func(a *Attempt) { a.AttemptAction = "same" })
	also := at("c", 1, true).with(func(a *Attempt) { a.AttemptAction = "also" })
	rounded := func(a *Attempt) { a.Report.ExactScore = nil }
	for name, tt := range map[string]struct {
		x, y Side
		want string
	}{
		"better at one":            {side("x", three("c", 2, true)...), side("y", three("c", 1, false)...), "x is better than y at 1 of 1 competition; any medal +100.0 points (95 % interval -23 to 100, 3 and 3 attempts)."},
		"better at two":            {side("x", at("c", 2, true), at("d", 2, true)), side("y", at("c", 1, true), at("d", 1, false)), "x is better than y at 2 of 2 competitions; any medal +50.0 points (no interval, 2 and 2 attempts)."},
		"worse":                    {side("x", at("c", 1, false)), side("y", at("c", 2, true)), "x is worse than y at 1 of 1 competition; any medal -100.0 points (no interval, 1 and 1 attempts)."},
		"better at most":           {side("x", at("c", 2, true), at("d", 2, true), at("e", 0, true)), side("y", at("c", 1, true), at("d", 1, true), at("e", 1, true)), "x is better than y at 2 of 3 competitions; any medal +0.0 points (no interval, 3 and 3 attempts)."},
		"each better at one":       {side("x", at("c", 2, true), at("d", 1, true)), side("y", at("c", 1, true), at("d", 2, true)), "x and y are each better than the other at 1 of 2 competitions; any medal +0.0 points (no interval, 2 and 2 attempts)."},
		"equal":                    {side("x", at("c", 1, true)), side("y", at("c", 1, true)), "x and y have equal mean scores at 1 competition; any medal +0.0 points (no interval, 1 and 1 attempts)."},
		"lower is better":          {side("x", at("c", 1, true).with(lower)), side("y", at("c", 2, true).with(lower)), "x is better than y at 1 of 1 competition; any medal +0.0 points (no interval, 1 and 1 attempts)."},
		"over competitions":        {side("x", each(at)...), side("y", each(func(id string, _ float64, _ bool) *Attempt { return at(id, 1, false) })...), "x is better than y at 10 of 10 competitions; any medal +50.0 points (95 % interval 12 to 88 over other competitions, 10 and 10 attempts)."},
		"no medals are known":      {side("x", at("c", 2, false).with(unranked)), side("y", at("c", 1, false).with(unranked)), "x is better than y at 1 of 1 competition."},
		"no score is worse":        {side("x", at("c", 1, false).with(unranked)), side("y", at("c", 2, false).with(unranked).with(scoreless)), "x is better than y at 1 of 1 competition."},
		"no score is worse, again": {side("x", at("c", 1, false).with(unranked).with(scoreless)), side("y", at("c", 2, false).with(unranked)), "x is worse than y at 1 of 1 competition."},
		"no scores":                {side("x", at("c", 1, false).with(unranked).with(scoreless)), side("y", at("c", 2, false).with(unranked).with(scoreless)), "neither x nor y has a score at 1 competition."},
		"the same attempt":         {side("x", same), side("y", same), "x and y have the same attempt: nothing differs."},
		"the same attempts":        {side("x", same, also), side("y", also, same), "x and y have the same 2 attempts: nothing differs."},
		"one in common":            {side("x", same, at("c", 1, true)), side("y", same, at("c", 1, true)), "x and y have equal mean scores at 1 competition; any medal +0.0 points (95 % interval -100 to 100, 2 and 2 attempts); both have 1 attempt in common."},
		"scores that are rounded":  {side("x", at("c", 2, true).with(rounded)), side("y", at("c", 1, true).with(rounded)), "x is better than y at 1 of 1 competition; any medal +0.0 points (no interval, 1 and 1 attempts)."},
		"NaN is no score":          {side("x", at("c", math.NaN(), false).with(unranked)), side("y", at("c", 1, false).with(unranked)), "x is worse than y at 1 of 1 competition."},
		"infinity is no score":     {side("x", at("c", math.Inf(1), false).with(unranked)), side("y", at("c", 1, false).with(unranked)), "x is worse than y at 1 of 1 competition."},
		"a sum without bounds":     {side("x", at("c", math.MaxFloat64, false).with(unranked), at("c", math.MaxFloat64, false).with(unranked)), side("y", at("c", 1, false).with(unranked)), "x is better than y at 1 of 1 competition."},
	} {
		c, err := Compare(tt.x, tt.y, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := c.Sentence(); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

// each is an attempt at each of ten competitions; at every second one it has a medal.
func each(at func(id string, score float64, medal bool) *Attempt) (list []*Attempt) {
	for i := range 10 {
		list = append(list, at(fmt.Sprint("c", i), 2, i%2 == 0))
	}
	return list
}

// TestNothingShared refuses what has no class, or no competition, in common. Both names are
// in the error, and nothing is compared.
func TestNothingShared(t *testing.T) {
	at := func(competition, conditions string) *Attempt {
		return made("", "", competition, conditions).score(1, true)
	}
	v2 := func(a *Attempt) { a.Report.CompetitionVersion = "v2" }
	masked := func(a *Attempt) { a.Report.CompetitionVersion = "v1m" }
	for name, tt := range map[string]struct {
		x, y  Side
		class string
	}{
		"both are empty":       {side("x"), side("y"), ""},
		"one is empty":         {side("x", at("c", short)), side("y"), ""},
		"other limits":         {side("x", at("c", short)), side("y", at("c", long)), ""},
		"a rehearsal and real": {side("x", at("c", short)), side("y", at("c", rehearsal)), ""},
		"masked and real":      {side("x", at("c", short)), side("y", at("c", short).with(masked)), ""},
		"forks":                {side("x", at("c", fork)), side("y", at("c", fork)), ""},
		"not final":            {side("x", at("c", spoilt)), side("y", at("c", spoilt)), ""},
		"not graded":           {side("x", at("c", short)), side("y", at("c", short).with(func(a *Attempt) { a.Graded = false })), ""},
		"other competitions":   {side("x", at("c", short)), side("y", at("d", short)), ""},
		"other versions":       {side("x", at("c", short)), side("y", at("c", short).with(v2)), ""},
		"ids in another case":  {side("x", at("c", short)), side("y", at("C", short)), ""},
		"a class of neither":   {side("x", at("c", short)), side("y", at("c", short)), "isolation container"},
		"a class of one":       {side("x", at("c", short), at("c", long)), side("y", at("c", short)), made("", "", "", long).Class()},
	} {
		c, err := Compare(tt.x, tt.y, tt.class)
		if !errors.Is(err, board.ErrNothingShared) || !strings.Contains(err.Error(), "x and y") {
			t.Errorf("%s: %v", name, err)
		}
		for i, s := range []Side{tt.x, tt.y} {
			n := len(c.Of[i])
			for _, of := range []Aside{c.FirstAside, c.SecondAside}[i] {
				n += of
			}
			if n != len(s.Attempts) {
				t.Errorf("%s: %d of %d attempts are accounted for", name, n, len(s.Attempts))
			}
		}
	}
}

// TestClassOfComparison takes the class of which both have most at the same competitions,
// real data before rehearsals.
func TestClassOfComparison(t *testing.T) {
	at := func(competition, conditions string) *Attempt {
		return made("", "", competition, conditions).score(1, true)
	}
	many := func(n int, a *Attempt) []*Attempt { return slices.Repeat([]*Attempt{a}, n) }
	class := func(conditions string) string { return made("", "", "", conditions).Class() }
	if got := class(short + " data=micro-4-1"); got == class(short) || got == class(short+" data=micro-4-2") {
		t.Errorf("a small split is in a class of others: %q", got)
	}
	for name, tt := range map[string]struct {
		x, y []*Attempt
		want string
	}{
		"most of both":                   {append(many(9, at("c", short)), many(2, at("c", long))...), append(many(1, at("c", short)), many(2, at("c", long))...), class(long)},
		"most at the same competitions":  {append(many(9, at("c", short)), at("d", long)), append(many(9, at("d", short)), at("d", long)), class(long)},
		"real data before rehearsals":    {append(many(9, at("c", rehearsal)), at("c", short)), append(many(9, at("c", rehearsal)), at("c", short)), class(short)},
		"rehearsals where both have one": {[]*Attempt{at("c", rehearsal), at("c", short)}, []*Attempt{at("c", rehearsal), at("c", long)}, class(rehearsal)},
	} {
		c, err := Compare(side("x", tt.x...), side("y", tt.y...), "")
		if err != nil || c.Class != tt.want {
			t.Errorf("%s: %q, %v", name, c.Class, err)
		}
	}
}

// TestVersions compares the versions of competitions that both tried.
func TestVersions(t *testing.T) {
	at := func(competition, version string, score float64) *Attempt {
		a := made("", "", competition, short).score(score, false)
		a.Report.CompetitionVersion = version
		return a
	}
	c, err := Compare(side("x", at("c", "v1", 1), at("c", "v1", 1), at("c", "v2", 5), at("d", "v1", 1), at("e", "v1", 1)),
		side("y", at("c", "v2", 4), at("d", "v2", 9), at("f", "v2", 1)), "")
	if err != nil || c.Competitions != 1 || c.Better != 1 || c.FirstAside[asideVersion] != 3 || c.SecondAside[asideVersion] != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if diff := cmp.Diff([][]string{{"e"}, {"f"}}, [][]string{c.FirstOnly, c.SecondOnly}); diff != "" {
		t.Error(diff)
	}
}

// TestWonAndLost counts medals for each attempt, whatever the numbers of attempts are.
func TestWonAndLost(t *testing.T) {
	at := func(competition string, medal bool) *Attempt { return made("", "", competition, short).score(1, medal) }
	c, err := Compare(side("x", at("won", true), at("lost", true), at("lost", false), at("tied", true), at("tied", false), at("mine", true)),
		side("y", at("won", true), at("won", false), at("lost", true), at("tied", true), at("tied", true), at("tied", false), at("tied", false), at("his", true)), "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"won"}, {"lost"}, {"mine"}, {"his"}}, [][]string{c.Won, c.Lost, c.FirstOnly, c.SecondOnly}); diff != "" {
		t.Error(diff)
	}
	if again := Recalled(Side{"x", c.Of[0]}, Side{"y", c.Of[1]}, c.Comparison); again.Sentence() != c.Sentence() || !slices.Equal(again.Won, c.Won) {
		t.Errorf("with the same figures: %s, won %v", again.Sentence(), again.Won)
	}
	if c.FirstRuns != 5 || c.SecondRuns != 7 || c.FirstLeft != 1 || c.SecondLeft != 1 {
		t.Errorf("%d and %d runs, %d and %d left out", c.FirstRuns, c.SecondRuns, c.FirstLeft, c.SecondLeft)
	}
}

// TestCompare holds for any attempts: swapped sides negate, what is compared with itself
// differs in nothing, and no attempt is lost.
func TestCompare(t *testing.T) {
	compared := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		x, y := Side{"x", random(r)}, Side{"y", random(r)}
		for _, a := range y.Attempts {
			if a.AttemptAction != "" && seed%2 == 0 {
				a.AttemptAction += "y" // nothing in common
			}
		}
		c, err := Compare(x, y, "")
		d, back := Compare(y, x, "")
		if fmt.Sprint(err == nil) != fmt.Sprint(back == nil) || c.Class != d.Class {
			t.Fatalf("%d: %q %v, swapped %q %v", seed, c.Class, err, d.Class, back)
		}
		for i, aside := range []Aside{c.FirstAside, c.SecondAside} {
			s := []Side{x, y}[i]
			checkComparable(t, Selection{}, Distinct(s.Attempts), c.Of[i], c.Class, aside)
		}
		if err != nil {
			continue
		}
		compared++
		if c.Better != d.Worse || c.Worse != d.Better || c.Equal != d.Equal || c.Same != d.Same || !slices.Equal(c.Won, d.Lost) || !slices.Equal(c.Lost, d.Won) || !slices.Equal(c.FirstOnly, d.SecondOnly) {
			t.Fatalf("%d: %s swapped %s", seed, c.Sentence(), d.Sentence())
		}
		for name, f := range c.Figures {
			if g := d.Figures[name]; f.Difference != -g.Difference || f.First != g.Second || *cmpOr(f.P) != *cmpOr(g.P) {
				t.Fatalf("%d: %s %+v, swapped %+v", seed, name, f, g)
			}
		}
		own, err := Compare(x, Side{"z", x.Attempts}, "")
		if err != nil {
			t.Fatalf("%d: with itself: %v", seed, err)
		}
		for name, f := range own.Figures {
			if f.Difference != 0 {
				t.Errorf("%d: with itself: %s %v", seed, name, f.Difference)
			}
		}
		keyed := !slices.ContainsFunc(own.Of[0], func(a *Attempt) bool { return a.Key() == "" })
		if own.Better+own.Worse+len(own.Won)+len(own.Lost) > 0 || keyed && !strings.Contains(own.Sentence(), "nothing differs") {
			t.Errorf("%d: with itself: %s", seed, own.Sentence())
		}
	}
	if compared < 500 {
		t.Errorf("%d comparisons", compared)
	}
}

func cmpOr(p *grading.Number) *grading.Number {
	if p == nil {
		return new(grading.Number)
	}
	return p
}

// TestControlCharacters leaves names as they are; surfaces make them fit.
func TestControlCharacters(t *testing.T) {
	name := "a\x1b[31m\x00\n"
	c, err := Compare(side(name, made("", name, "c\x00", short).score(1, false)), side("y", made("", "y", "c\x00", short).score(2, false)), "")
	if err != nil || !strings.HasPrefix(c.Sentence(), name+" is worse than y") {
		t.Errorf("%q, %v", c.Sentence(), err)
	}
	own, _, aside := Selection{}.Comparable([]*Attempt{made("1", "a\x00", "c", short), made("2", "a", "\x00c", short), made("3", "a", "c\x00", short)})
	if len(own) != 3 || len(aside) != 0 {
		t.Errorf("%d compared, %v", len(own), aside)
	}
}

// many are attempts of two agents at 22 competitions in three classes, each in two runs.
func many(n int) (x, y Side) {
	x.Name, y.Name = "x", "y"
	for i := range n {
		set := []string{short, short, short, long, rehearsal}[i%5]
		a := made(fmt.Sprintf("%064d", i/2), "agent", fmt.Sprintf("competition-%02d", i/10%22), set+" cpus=8 gpus=1 network=none budget=none memory=64GiB")
		a = a.score(float64(i%7), i%3 == 0)
		a.RunID, a.Program = fmt.Sprintf("run-%d", i%2), "p"
		if i%4 < 2 {
			x.Attempts = append(x.Attempts, a)
		} else {
			y.Attempts = append(y.Attempts, a)
		}
	}
	return x, y
}

// BenchmarkCompare is what a page over all runs does.
func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		x, y := many(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all := Distinct(slices.Concat(x.Attempts, y.Attempts))
				Classes(all)
				if _, _, aside := (Selection{}).Comparable(all); len(aside) == 0 {
					b.Fatal("nothing is set aside")
				}
				if _, err := Compare(x, y, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLarge compares 100,000 attempts. The bound is that of a machine which is ten times
// slower.
func TestLarge(t *testing.T) {
	x, y := many(100_000)
	start := time.Now()
	c, err := Compare(x, y, "")
	if took := time.Since(start); err != nil || took > 20*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	if n := len(c.Of[0]) + len(c.Of[1]); n == 0 || n > 50_000 {
		t.Errorf("%d attempts are compared", n)
	}
	if n := testing.AllocsPerRun(1, func() { Distinct(x.Attempts) }); n > float64(2*len(x.Attempts)) {
		t.Errorf("%v allocations for %d attempts", n, len(x.Attempts))
	}
}
