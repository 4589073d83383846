package results

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// The conditions of the attempts in these tests.
const (
	short     = "isolation=sandbox task=own time=12h"
	long      = "isolation=sandbox task=own time=24h"
	rehearsal = short + " data=rehearsal"
	fork      = short + " forked=abc@3600"
	spoilt    = short + " provisional=provider_failed"
)

// made is a graded attempt under conditions.
func made(key, agent, competition, conditions string) *Attempt {
	a := &Attempt{AttemptAction: key, Agent: agent, Graded: true}
	a.Report.CompetitionID, a.Report.CompetitionVersion, a.Report.Conditions = competition, "v1", strings.Fields(conditions)
	a.Report.Teams, a.Report.Gold, a.Report.Median = 10, 1, 0
	return a
}

// with is a copy of an attempt that is changed.
func (a *Attempt) with(change func(*Attempt)) *Attempt {
	b := *a
	change(&b)
	return &b
}

// in is the attempt as a run has it.
func (a *Attempt) in(run string) *Attempt { return a.with(func(a *Attempt) { a.RunID = run }) }

// score is the attempt with a score.
func (a *Attempt) score(score float64, medal bool) *Attempt {
	return a.with(func(a *Attempt) {
		n := grading.Number(score)
		a.Report.Score, a.Report.ExactScore, a.Report.Outcome = &n, &n, outcome.Scored
		a.Report.SubmissionExists, a.Report.ValidSubmission, a.Report.GoldMedal = true, true, medal
	})
}

// TestDistinct joins the runs of an attempt and takes that of the newest run, a graded one
// before others.
func TestDistinct(t *testing.T) {
	one := made("k", "a", "c", short)
	ungraded := one.with(func(a *Attempt) { a.Graded = false })
	for name, tt := range map[string]struct {
		list []*Attempt
		want []string // run of the attempt, its runs, and whether it is graded
	}{
		"none":                         {nil, nil},
		"one":                          {[]*Attempt{one.in("1")}, []string{"1 [1] true"}},
		"the newest run":               {[]*Attempt{one.in("1"), one.in("3"), one.in("2")}, []string{"3 [1 2 3] true"}},
		"the same run twice":           {[]*Attempt{one.in("1"), one.in("1")}, []string{"1 [1] true"}},
		"a graded one first":           {[]*Attempt{one.in("1"), ungraded.in("2")}, []string{"1 [1 2] true"}},
		"a graded one last":            {[]*Attempt{ungraded.in("2"), one.in("1")}, []string{"1 [1 2] true"}},
		"none is graded":               {[]*Attempt{ungraded.in("1"), ungraded.in("2")}, []string{"2 [1 2] false"}},
		"without a key":                {[]*Attempt{made("", "a", "c", short), made("", "a", "c", short)}, []string{" [] true", " [] true"}},
		"without a key among others":   {[]*Attempt{made("", "a", "c", short), one.in("1"), made("", "a", "c", short), one.in("2")}, []string{" [] true", "2 [1 2] true", " [] true"}},
		"keys that differ in case":     {[]*Attempt{one.in("1"), made("K", "a", "c", short).in("2")}, []string{"1 [1] true", "2 [2] true"}},
		"the key of a submission":      {[]*Attempt{{GradeAction: "k", RunID: "1"}, {GradeAction: "k", RunID: "2"}}, []string{"2 [1 2] false"}},
		"runs that are known already":  {[]*Attempt{one.in("3").with(func(a *Attempt) { a.Runs = []string{"3", "1"} }), one.in("2")}, []string{"3 [1 2 3] true"}},
		"a run that its runs left out": {[]*Attempt{one.in("3").with(func(a *Attempt) { a.Runs = []string{"1"} })}, []string{"3 [1 3] true"}},
	} {
		var got []string
		before := fmt.Sprint(tt.list)
		for _, a := range Distinct(tt.list) {
			got = append(got, fmt.Sprint(a.RunID, " ", a.Runs, " ", a.Graded))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		for _, a := range tt.list {
			if len(a.Runs) > 2 || fmt.Sprint(tt.list) != before {
				t.Errorf("%s: the list was changed", name)
			}
		}
	}
}

// random is a list of attempts in which everything that sets are made by occurs.
func random(r *rand.Rand) []*Attempt {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	list, base := make([]*Attempt, r.IntN(30)), r.Uint64()
	for i := range list {
		// What an attempt is made of follows from its key, as it does in a cache.
		key := pick("", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "A")
		k := r
		if key != "" {
			k = rand.New(rand.NewPCG(base, uint64(key[0])))
		}
		from := func(from ...string) string { return from[k.IntN(len(from))] }
		a := made(key, from("x", "y"), from("c", "d"), from(short, short, long, rehearsal, fork, spoilt, ""))
		a.Report.CompetitionVersion, a.Program = from("v1", "v1", "v2", "v1m", ""), from("p", "q")
		list[i] = a.score(float64(k.IntN(3)), k.IntN(2) == 0)
		list[i].RunID, list[i].Graded = pick("", "r1", "r2", "r3"), r.IntN(5) > 0
	}
	return list
}

// described says of attempts by their keys all that Distinct and Comparable decide.
func described(list []*Attempt) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = fmt.Sprint(a.Key(), " ", a.RunID, " ", a.Runs, " ", a.Graded)
		if a.Key() == "" {
			out[i] = fmt.Sprintf("- %p", a.Report.Score) // copies share it
		}
	}
	return out
}

// TestSets holds for any attempts: Distinct is idempotent, loses none and joins none that
// differ; Comparable is a partition, of one class, one program for each agent and one version
// of each competition; neither depends on the order.
func TestSets(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := random(r)
		once := Distinct(list)
		if diff := cmp.Diff(described(once), described(Distinct(once))); diff != "" {
			t.Fatalf("%d: Distinct again: %s", seed, diff)
		}
		keys, unkeyed := map[string]bool{}, 0
		for _, a := range list {
			if keys[a.Key()] = true; a.Key() == "" {
				unkeyed++
			}
		}
		delete(keys, "")
		if len(once) != len(keys)+unkeyed {
			t.Fatalf("%d: %d distinct attempts of %d keys and %d without", seed, len(once), len(keys), unkeyed)
		}
		shuffled := slices.Clone(list)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		sorted := func(list []*Attempt) []string { return slices.Sorted(slices.Values(described(list))) }
		if diff := cmp.Diff(sorted(once), sorted(Distinct(shuffled))); diff != "" {
			t.Fatalf("%d: Distinct of another order: %s", seed, diff)
		}
		for _, programs := range []bool{false, true} {
			q := Selection{Programs: programs}
			own, class, aside := q.Comparable(list)
			checkComparable(t, q, once, own, class, aside)
			again, other, left := q.Comparable(shuffled)
			if diff := cmp.Diff(sorted(own), sorted(again)); diff != "" || class != other || !maps.Equal(aside, left) {
				t.Fatalf("%d: Comparable of another order: %q %v, %q %v: %s", seed, class, aside, other, left, diff)
			}
			twice, _, none := q.Comparable(own)
			if diff := cmp.Diff(described(own), described(twice)); diff != "" || len(none) != 0 {
				t.Fatalf("%d: Comparable again sets aside %v: %s", seed, none, diff)
			}
		}
		if diff := cmp.Diff(Classes(list), Classes(shuffled)); diff != "" {
			t.Fatalf("%d: classes of another order: %s", seed, diff)
		}
	}
}

// checkComparable checks what must hold of attempts that are compared.
func checkComparable(t *testing.T, q Selection, once, own []*Attempt, class string, aside Aside) {
	t.Helper()
	total := len(own)
	for why, n := range aside {
		if total += n; n <= 0 || !strings.Contains(aside.String(), why) {
			t.Errorf("%d set aside: %s in %q", n, why, aside)
		}
	}
	if total != len(once) {
		t.Errorf("%d compared and %v set aside of %d", len(own), aside, len(once))
	}
	programs, versions := map[string]string{}, map[string]string{}
	same := func(of map[string]string, key, value string) bool {
		known, ok := of[key]
		of[key] = value
		return !ok || known == value
	}
	for _, a := range own {
		switch {
		case !a.Graded, a.Class() != class, conditions.IsFork(a.Report.Conditions), !conditions.Final(a.Report.Conditions):
			t.Errorf("%v of %s is compared within %q", a.Report.Conditions, a.Class(), class)
		case !q.Programs && !same(programs, a.Agent, a.Program):
			t.Errorf("several programs of %s are compared", a.Agent)
		case !same(versions, a.Competition(), a.Report.CompetitionVersion):
			t.Errorf("several versions of %s are compared", a.Competition())
		case !same(versions, "masked", fmt.Sprint(competitions.IsMasked(a.Report.CompetitionVersion))), !same(versions, "rehearsal", fmt.Sprint(conditions.Rehearsed(a.Report.Conditions))):
			t.Error("masked and real attempts, or rehearsals and real ones, are compared")
		}
	}
}

// TestComparable says what is set aside, and why.
func TestComparable(t *testing.T) {
	n := 0
	next := func(agent, conditions string) *Attempt {
		n++
		return made(fmt.Sprint(n), agent, "c", conditions)
	}
	masked := func(a *Attempt) { a.Report.CompetitionVersion = "v1m" }
	of := func(program string) func(*Attempt) { return func(a *Attempt) { a.Program = program } }
	for name, tt := range map[string]struct {
		q     Selection
		list  []*Attempt
		own   int
		aside string
	}{
		"none":                              {Selection{}, nil, 0, ""},
		"all":                               {Selection{}, []*Attempt{next("x", short), next("y", short)}, 2, ""},
		"the larger class":                  {Selection{}, []*Attempt{next("x", short), next("x", long), next("y", long)}, 2, "1 attempt is not compared: 1 under other conditions"},
		"the class that is asked for":       {Selection{Class: made("", "", "", short).Class()}, []*Attempt{next("x", short), next("x", long), next("y", long)}, 1, "2 attempts are not compared: 2 under other conditions"},
		"real data before rehearsals":       {Selection{}, []*Attempt{next("x", short), next("x", rehearsal), next("y", rehearsal)}, 1, "2 attempts are not compared: 2 rehearsals"},
		"rehearsals alone":                  {Selection{}, []*Attempt{next("x", rehearsal), next("y", rehearsal)}, 2, ""},
		"masked and real":                   {Selection{}, []*Attempt{next("x", short), next("x", short).with(masked), next("y", short).with(masked)}, 1, "2 attempts are not compared: 2 masked"},
		"a fork and one that is not final":  {Selection{}, []*Attempt{next("x", short), next("x", fork), next("x", spoilt)}, 1, "2 attempts are not compared: 1 fork, 1 not final"},
		"forks alone":                       {Selection{}, []*Attempt{next("x", fork), next("x", fork)}, 0, "2 attempts are not compared: 2 forks"},
		"one that nothing graded":           {Selection{}, []*Attempt{next("x", short), next("x", short).with(func(a *Attempt) { a.Graded = false })}, 1, "1 attempt is not compared: 1 not graded"},
		"the newest program":                {Selection{}, []*Attempt{next("x", short).in("2").with(of("q")), next("x", short).in("1").with(of("p")), next("y", short).in("1").with(of("p"))}, 2, "1 attempt is not compared: 1 of another program"},
		"several programs where asked for":  {Selection{Programs: true}, []*Attempt{next("x", short).in("2").with(of("q")), next("x", short).in("1").with(of("p"))}, 2, ""},
		"versions of a competition":         {Selection{}, []*Attempt{next("x", short), next("y", short), next("x", short).with(func(a *Attempt) { a.Report.CompetitionVersion = "v2" })}, 2, "1 attempt is not compared: 1 at another version"},
		"more tries are another class":      {Selection{}, []*Attempt{next("x", short), next("y", short), next("x", short+" tries=2")}, 2, "1 attempt is not compared: 1 under other conditions"},
		"the runtime is no condition":       {Selection{}, []*Attempt{next("x", short+" runtime=sandbox"), next("y", short+" runtime=containerd")}, 2, ""},
		"agents whose names differ in case": {Selection{}, []*Attempt{next("x", short).with(of("p")), next("X", short).with(of("q"))}, 2, ""},
	} {
		own, _, aside := tt.q.Comparable(tt.list)
		if len(own) != tt.own || aside.String() != tt.aside {
			t.Errorf("%s: %d compared, %q", name, len(own), aside)
		}
	}
}

// TestAside writes every reason, in a fixed order.
func TestAside(t *testing.T) {
	all := Aside{asideRehearsal: 8, asideMasked: 3, asideFork: 1, asideNotFinal: 2, asideNotGraded: 1, asideConditions: 4, asideProgram: 5, asideVersion: 6}
	want := "30 attempts are not compared: 8 rehearsals, 3 masked, 1 fork, 2 not final, 1 not graded, 4 under other conditions, 5 of another program, 6 at another version"
	if got := all.String(); got != want {
		t.Errorf("%q", got)
	}
}

// TestClass keeps data and masked versions apart, and names letters.
func TestClass(t *testing.T) {
	real := made("1", "x", "c", short)
	masked := real.with(func(a *Attempt) { a.AttemptAction, a.Report.CompetitionVersion = "2", "v1m" })
	other := real.with(func(a *Attempt) { a.AttemptAction, a.Report.CompetitionVersion = "3", "v2m" })
	list := []*Attempt{masked, made("4", "x", "c", rehearsal), other, real, made("5", "x", "c", short), made("6", "x", "c", fork)}
	classes := Classes(slices.Concat(list, []*Attempt{masked, masked, masked}))
	if len(classes) != 5 || classes[0] != real.Class() {
		t.Errorf("classes %q", classes)
	}
	if got := Classes(nil); len(got) != 0 {
		t.Errorf("classes of nothing %q", got)
	}
	for i, want := range map[int]string{0: "A", 25: "Z", 26: "27", 99: "100"} {
		if got := Letter(i); got != want {
			t.Errorf("letter %d is %s", i, got)
		}
	}
}

// TestProgramOf changes with everything that an agent is made of, except its name.
func TestProgramOf(t *testing.T) {
	fields := map[string]string{"agent.name": "mine", "agent.command": "sh a.sh", "agent.files[a.sh]": "abc", "agent.image": "", "image digest": "def", "seed": "1", "competition": "c", "timeout": "1h"}
	changed := func(name, value string) string {
		other := maps.Clone(fields)
		other[name] = value
		return ProgramOf(other)
	}
	base := ProgramOf(fields)
	if len(base) != 12 {
		t.Errorf("program %q", base)
	}
	for name := range fields {
		same := !strings.HasPrefix(name, "agent.") && name != "image digest" || name == "agent.name"
		if got := changed(name, fields[name]+"x"); (got == base) != same {
			t.Errorf("another %s gives the same program: %v", name, got == base)
		}
	}
	for _, name := range []string{"agent.env[A]", "agent.models[0].models", "built-in agent version"} {
		if changed(name, "") == base {
			t.Errorf("a field %s changes nothing", name)
		}
	}
	if got := ProgramOf(map[string]string{"seed": "1"}); got != "" {
		t.Errorf("no agent is %q", got)
	}
	seen := map[string]string{}
	for _, f := range []map[string]string{
		{"agent.a": "b", "agent.c": "d"}, {"agent.a": "b\n7 agent.c 1 d"}, {"agent.a": "b agent.c d"}, {"agent.a": "bagent.cd"}, {"agent.ab": "", "agent.c": "d"}, {"agent.a": "", "agent.bc": "d"}, {"agent.a b": "c"}, {"agent.a": "b c"}, {"agent.a": "b\n1 agent.c 1 d"}, {"agent.a": "b\nagent.c d"}, {"agent.a": "b\nagent.c=d"},
	} {
		p := ProgramOf(f)
		if other, known := seen[p]; known {
			t.Errorf("%v and %s are one program", f, other)
		}
		seen[p] = fmt.Sprint(f)
	}
}

// TestSort orders numbers by their value, whatever else there is.
func TestSort(t *testing.T) {
	seeds := []string{"b", "10", "", "2", "a", "-1"}
	slices.SortFunc(seeds, CompareSeeds)
	if diff := cmp.Diff([]string{"-1", "2", "10", "", "a", "b"}, seeds); diff != "" {
		t.Error(diff)
	}
	list := []*Attempt{{Agent: "b", Seed: "1", RunID: "1"}, {Agent: "a", Seed: "10"}, {Agent: "a", Seed: "9"}, {Agent: "b", Seed: "1", RunID: "2"}}
	Sort(list)
	var got []string
	for _, a := range list {
		got = append(got, a.Agent+a.Seed+"/"+a.RunID)
	}
	if diff := cmp.Diff([]string{"a9/", "a10/", "b1/2", "b1/1"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestRows has every attempt of Distinct, one that two steps graded twice.
func TestRows(t *testing.T) {
	at := func(key, run, grade string, graded bool) *Attempt {
		return &Attempt{AttemptAction: key, RunID: run, GradeAddress: grade, Graded: graded}
	}
	for name, tt := range map[string]struct {
		list []*Attempt
		want []string
	}{
		"none":                     {nil, nil},
		"two runs":                 {[]*Attempt{at("k", "1", "g", true), at("k", "2", "g", true)}, []string{"2 g [1 2]"}},
		"two grades":               {[]*Attempt{at("k", "1", "g", true), at("k", "1", "h", true)}, []string{"1 g [1]", "1 h [1]"}},
		"two grades in two runs":   {[]*Attempt{at("k", "1", "g", true), at("k", "1", "h", true), at("k", "2", "g", true), at("k", "2", "h", true)}, []string{"2 g [1 2]", "2 h [1 2]"}},
		"a run named twice":        {[]*Attempt{at("k", "1", "g", true), at("k", "1", "g", true)}, []string{"1 g [1]"}},
		"graded in the older run":  {[]*Attempt{at("k", "1", "g", true), at("k", "2", "", false)}, []string{"1 g [1 2]"}},
		"reports, which have none": {[]*Attempt{at("", "", "", true), at("", "", "", true)}, []string{"  []", "  []"}},
	} {
		var got []string
		for _, a := range Rows(tt.list) {
			got = append(got, fmt.Sprint(a.RunID, " ", a.GradeAddress, " ", a.Runs))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
