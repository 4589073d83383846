package ui

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// What the sides of a comparison are, in their addresses.
const agentPrefix, runPrefix = "agent:", "run:"

// compareData is the page that compares two agents or runs.
type compareData struct {
	A, B           string
	NameA, NameB   string
	SidesA, SidesB []choice
	Missing        string
	Progress       progress
	Intervals      template.HTML
	Rows           []compareRow
	Header         []string
	Figures        [][]string
	PairedBy       string
	Pairs, Both    int
	Left           string
	Swap           string
	OnlyA, OnlyB   []string
	Note           string
}

// compareRow is one competition.
type compareRow struct {
	ID, Link, A, B, Difference, Interval, Better string
	Pairs                                        int
	AWins, BWins                                 bool
}

// comparePage compares two agents or runs, competition by competition.
func (u *UI) comparePage(r *http.Request) (*content, error) {
	q := r.URL.Query()
	all, p := u.results.all()
	d := compareData{A: q.Get("a"), B: q.Get("b"), Progress: p, SidesA: sides(all, q.Get("a")), SidesB: sides(all, q.Get("b")), NameA: sideName(q.Get("a")), NameB: sideName(q.Get("b"))}
	d.Swap = "/compare?" + url.Values{"a": {d.B}, "b": {d.A}}.Encode()
	c := &content{title: "Compare", nav: "Compare", live: !p.Ready}
	if d.A != "" && d.B != "" {
		c.title = "Compare " + d.NameA + " with " + d.NameB
		a, errA := u.side(d.A, all)
		b, errB := u.side(d.B, all)
		if err := errors.Join(errA, errB); err != nil {
			d.Missing = err.Error()
		} else if err := d.compare(a, b); err != nil {
			d.Missing = err.Error()
		}
	}
	if err := c.add("form", "compare form", d); err != nil {
		return nil, err
	}
	return c, c.add("compare", "compare", d)
}

// sides are the agents and the latest runs that have results.
func sides(all []*result, chosen string) []choice {
	agents, runs := map[string]bool{}, map[string]bool{}
	for _, res := range all {
		agents[res.Agent], runs[res.Run] = true, true
	}
	var out []choice
	for _, name := range sortedKeys(agents) {
		out = append(out, choice{Value: agentPrefix + name, Text: "agent " + name})
	}
	ids := slices.Sorted(maps.Keys(runs))
	slices.Reverse(ids)
	for _, id := range ids[:min(len(ids), 200)] {
		out = append(out, choice{Value: runPrefix + id, Text: "run " + id})
	}
	found := false
	for i := range out {
		out[i].Chosen = out[i].Value == chosen
		found = found || out[i].Chosen
	}
	if !found {
		out = append([]choice{{chosen, cmp.Or(sideName(chosen), "choose one"), true}}, out...)
	}
	return out
}

func sideName(ref string) string {
	if name, ok := strings.CutPrefix(ref, agentPrefix); ok {
		return name
	}
	return strings.TrimPrefix(ref, runPrefix)
}

// side are the graded attempts of an agent, or of a run: those of one agent in it
// if the reference has one after a slash.
func (u *UI) side(ref string, all []*result) ([]grading.Graded, error) {
	var out []grading.Graded
	if name, ok := strings.CutPrefix(ref, agentPrefix); ok {
		for _, res := range all {
			if res.Agent == name {
				out = append(out, res.Graded)
			}
		}
		if len(out) == 0 {
			return nil, fmt.Errorf("no attempt of the agent %s was graded", name)
		}
		return out, nil
	}
	id, agent, _ := strings.Cut(strings.TrimPrefix(ref, runPrefix), "/")
	past, err := u.Ledger.Find(id)
	if err != nil {
		return nil, err
	}
	err = u.Results(past, func(c Results) error {
		for e, err := range past.Finished("grade") {
			if err != nil {
				return err
			}
			if g, err := results.Read[grading.Graded](u.results.ctx, c, e.Outputs["report"]); err == nil && (agent == "" || g.Labels["agent"] == agent) {
				out = append(out, g)
			}
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("the run %s graded nothing, or its reports are no longer in the cache", id)
	}
	return out, err
}

// compare fills in the differences: of the figures of leaderboards over all
// competitions that both have, and of the scores at each.
func (d *compareData) compare(a, b []grading.Graded) error {
	in := func(list []grading.Graded) map[string]bool {
		out := map[string]bool{}
		for _, g := range list {
			out[g.CompetitionID] = true
		}
		return out
	}
	ofA, ofB := in(a), in(b)
	var ids []string
	for _, id := range union(ofA, ofB) {
		switch {
		case ofA[id] && ofB[id]:
			ids = append(ids, id)
		case ofA[id]:
			d.OnlyA = append(d.OnlyA, id)
		default:
			d.OnlyB = append(d.OnlyB, id)
		}
	}
	pairing := board.NewPairing(a, b, ids)
	c, err := pairing.Compare(board.DefaultResampling)
	if err != nil {
		return err
	}
	d.PairedBy, d.Pairs, d.Both = string(c.PairedBy), c.Pairs, c.Competitions
	first, second := 0, 0
	for _, n := range c.Unpaired {
		first, second = first+n.First, second+n.Second
	}
	if first+second > 0 {
		d.Left = fmt.Sprintf("Without a partner and left out: %d and %d.", first, second)
	}
	rows := aggregate.ComparisonRows(d.NameA, d.NameB, c)
	d.Header, d.Figures = rows[0], rows[1:]
	d.Header[0] = "figure"
	var plotted []page.Estimate
	for _, name := range board.PercentageNames() {
		f, ok := c.Figures[name]
		if !ok {
			continue
		}
		e := page.Estimate{Name: strings.ReplaceAll(strings.TrimSuffix(name, "_percentage"), "_", " "), Value: float64(f.Difference), Note: fmt.Sprintf("%+.1f", float64(f.Difference))}
		if in := f.Clustered; in != nil {
			e.Lower, e.Upper, e.Known = float64(in.Percentile.Lower), float64(in.Percentile.Upper), true
		} else if in := f.Stratified; in != nil {
			e.Lower, e.Upper, e.Known = float64(in.Percentile.Lower), float64(in.Percentile.Upper), true
		}
		plotted = append(plotted, e)
	}
	d.Intervals = page.Intervals(plotted, "difference in percentage points, with 95 % intervals")
	for _, id := range ids {
		d.Rows = append(d.Rows, compareScores(id, a, b, c.PairedBy))
	}
	return nil
}

// compareScores compares the scores at one competition: means, and the mean of
// the differences of pairs with its interval.
func compareScores(id string, a, b []grading.Graded, by board.PairedBy) compareRow {
	row := compareRow{ID: id, Link: "/competitions/" + url.PathEscape(id), A: "none", B: "none"}
	x, y, lower := scoresAt(id, a), scoresAt(id, b), false
	for _, g := range a {
		if g.CompetitionID == id {
			lower = g.LowerIsBetter
		}
	}
	meanA, meanB := mean(x), mean(y)
	if !math.IsNaN(meanA) {
		row.A = page.Score(meanA)
	}
	if !math.IsNaN(meanB) {
		row.B = page.Score(meanB)
	}
	row.Better = "higher"
	if lower {
		row.Better = "lower"
	}
	diffs := differences(x, y, by)
	row.Pairs = len(diffs)
	if len(diffs) == 0 {
		return row
	}
	diff := mean(diffs)
	row.Difference = signed(diff)
	row.AWins, row.BWins = diff != 0 && (diff < 0) == lower, diff != 0 && (diff > 0) == lower
	if lo, hi, ok := interval(diffs); ok {
		row.Interval = signed(lo) + " to " + signed(hi)
	}
	return row
}

func signed(v float64) string {
	if text := page.Score(v); v <= 0 {
		return text
	} else {
		return "+" + text
	}
}

// at is a score with the seed of its attempt.
type at struct {
	seed  string
	score float64
}

// scoresAt are the scores at a competition, in the order of the reports; NaN for
// an attempt without one.
func scoresAt(id string, list []grading.Graded) []at {
	var out []at
	for _, g := range list {
		if g.CompetitionID != id {
			continue
		}
		one := at{g.Labels["seed"], math.NaN()}
		if g.ExactScore != nil && !math.IsInf(float64(*g.ExactScore), 0) {
			one.score = float64(*g.ExactScore)
		}
		out = append(out, one)
	}
	return out
}

func mean[T at | float64](values []T) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		x := math.NaN()
		switch v := any(v).(type) {
		case at:
			x = v.score
		case float64:
			x = v
		}
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / float64(n)
}

// differences returns the differences of pairs in which both have a score.
func differences(x, y []at, by board.PairedBy) []float64 {
	var out []float64
	for i, a := range x {
		j := i
		if by == board.BySeed {
			j = slices.IndexFunc(y, func(b at) bool { return b.seed == a.seed })
		}
		if j >= 0 && j < len(y) && !math.IsNaN(a.score-y[j].score) {
			out = append(out, a.score-y[j].score)
		}
	}
	return out
}

// interval is the 95 % bootstrap interval of the mean of differences. The
// bootstrap takes integers: the differences are scaled to nine digits.
func interval(diffs []float64) (lo, hi float64, ok bool) {
	most := 0.0
	for _, d := range diffs {
		most = max(most, math.Abs(d))
	}
	if most == 0 || len(diffs) < 2 {
		return 0, 0, false
	}
	scale := 1e9 / most
	var values []int64
	for _, d := range diffs {
		values = append(values, int64(math.Round(d*scale)))
	}
	res, err := stat.Bootstrap{Resamples: board.DefaultResampling.Resamples, Confidence: 0.95}.MeanOfMeans([][]int64{values})
	if err != nil {
		return 0, 0, false
	}
	return res.Percentile.Lower / scale, res.Percentile.Upper / scale, true
}
