package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

// report answers with the report of a run, the file that mleflow report writes.
func (u *UI) report(w http.ResponseWriter, r *http.Request) {
	past, err := u.History.Open(r.PathValue("run"))
	var file []byte
	if err == nil {
		file, err = u.RunReport(r.Context(), past)
	}
	if err != nil {
		u.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", page.FilePolicy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(file)
}

// RunReport returns the page of a run as one HTML file. It needs nothing else: no scripts, no
// fonts, no requests, which its content security policy also forbids. Content that has been
// evicted is omitted, and the environment says so.
func (src Source) RunReport(ctx context.Context, past *history.Past) (file []byte, err error) {
	catalog, err := src.Catalog(past)
	if err != nil {
		return nil, err
	}
	err = src.Results(past, func(c Results) error {
		d, err := src.collect(ctx, past, c, catalog)
		if err != nil {
			return err
		}
		file, err = d.file()
		return err
	})
	return file, err
}

const (
	// rowsShown limits the tables of instances and pins, so that the report of a run of
	// 100,000 instances still opens.
	rowsShown = 5000
	// maxDocument is the largest document that is read.
	maxDocument = 64 << 20
)

// reportData is the first page of a run with what the others have of it.
type reportData struct {
	overview
	history.Info
	// File is the name of the pipeline's file.
	File string
	// NotIsolated names the attempts that were not isolated, if any.
	NotIsolated  string
	Competitions []reportCompetition
	// Models are the attempts' use of models by block, Refused their calls of the package
	// mlebench that were refused, as reported from the agent's side, and Pins what the run
	// used or made.
	Models  []stepFact[results.ModelUse]
	Refused []stepFact[shim.Group]
	Nodes   []nodeRow
	Blocks  page.Blocks
	Steps   capped[reportStep]
	Pins    capped[stepFact[pin]]
	// Missing is the number of documents that are no longer in the cache.
	Missing int
}

// capped are the first of some rows, Left the number of those that are left out.
type capped[R any] struct {
	Rows []R
	Left int
}

func cappedRows[R any](all []R) capped[R] {
	shown := all[:min(len(all), rowsShown)]
	return capped[R]{shown, len(all) - len(shown)}
}

// reportCompetition is the scores at a competition next to those of people.
type reportCompetition struct {
	page.AmongPeople
	Title, Metric string
	// Note names the source of the human scores.
	Note string
	// External reports whether a program of the competition computed the scores.
	External bool
	Scores   []scoreRow
}

// scoreRow is a graded submission. Why explains a missing score, or why the agent did not
// finish.
type scoreRow struct {
	Agent, Seed, Isolation, Score, Medal, Rank, Why string
	Integrity                                       page.Cell
	Evidence                                        []string
	AboveMedian                                     bool
}

// stepFact is something that a step has, with its name there.
type stepFact[T any] struct {
	Address, Name string
	Of            T
}

// nodeRow is the run's use of a cluster's node. Plot draws the steps that ran there, each with
// the time of one worker.
type nodeRow struct {
	history.NodeUse
	Plot template.HTML
}

// reportStep is an instance. Without a start it was not executed.
type reportStep struct {
	*history.StepSummary
	Name, Took string
	Reasons    []string
}

// pin is content by digest. Without a record its size is not known.
type pin struct {
	Digest string
	Size   int64
}

// file is the whole document.
func (d *reportData) file() ([]byte, error) {
	body, err := page.Fill(pages().Lookup("report"), d)
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	var out bytes.Buffer
	err = page.Frame{Title: d.File + " · run " + d.ID, Version: d.Version, Policy: page.FilePolicy(), Wide: true, Body: body}.Write(&out)
	return out.Bytes(), err
}

// collect gathers the data of the run.
func (src Source) collect(ctx context.Context, past *history.Past, c Results, catalog *competitions.Catalog) (*reportData, error) {
	m := newModel(past)
	if err := m.refresh(); err != nil {
		return nil, err
	}
	if m.plan == nil {
		_, err := past.Plan()
		return nil, err
	}
	sum := m.sums.Summary()
	d := &reportData{Info: sum.Info, File: filepath.Base(cmp.Or(sum.Start.Pipeline, sum.Pipeline, "?")), Blocks: m.blocks(sum)}
	var attempts conditions.Tally
	var pins []stepFact[pin]
	for i := range sum.Steps {
		s := &sum.Steps[i]
		attempts.Add(s.Kind, s.Conditions)
		d.addModels(s)
		used, err := d.read(ctx, c, m, s)
		if err != nil {
			return nil, err
		}
		pins = append(pins, used...)
	}
	d.Pins, d.NotIsolated = cappedRows(pins), attempts.NotIsolated("were not isolated")
	for _, w := range sum.Warnings {
		if w.Address == "" {
			d.Warnings = append(d.Warnings, w.Message)
		}
	}
	d.Steps = cappedRows(lists.Of(m.addresses(), func(address string) reportStep {
		s := cmp.Or(m.sums.Step(address), &history.StepSummary{})
		return reportStep{s, address, tookText(s, sum.Last, sum), m.reasons(address)}
	}))
	bad, all := m.state.Outcomes.Unscored()
	ended, class := page.Verdict(sum.State, bad, all)
	d.Facts.Add("outcome", ended, class)
	d.Facts = append(d.Facts, m.facts(sum, sum.Last)...)
	d.Graph = d.Blocks.Graph("", false)
	d.Timeline, d.Kinds = timeline(sum, sum.Last)
	d.addNodes(sum)
	first := &firstscreen.Source{Journal: m.journal(sum, catalog), Summary: sum, Store: c, Tail: src.tail, Link: func(string) string { return "" }}
	d.screen(ctx, first, &m.state.Outcomes)
	return d, nil
}

// screen makes the first screen, and adds the scores with the causes that logs tell.
func (d *reportData) screen(ctx context.Context, first *firstscreen.Source, o *view.Outcomes) {
	o.Explain(rowsShown, first.Tail)
	reasons := map[string]string{}
	for _, p := range o.Problems {
		reasons[p.Address] = p.Reason
	}
	list := first.List()
	d.Hours, d.HourKinds = page.Hours(results.HoursOf(list))
	graded := slices.DeleteFunc(list, func(a *results.Attempt) bool { _, read := first.Reports[a.GradeAddress]; return !read })
	d.addScores(graded, first.Catalog, reasons)
	d.Screen, d.Outcomes = first.New(ctx, o.Problems), o.Lines()
}

// read reads the outputs of a step that the report shows, the report of a grade step and the
// calls that an attempt was refused, and returns all of its content.
func (d *reportData) read(ctx context.Context, c Results, m *model, s *history.StepSummary) (pins []stepFact[pin], err error) {
	rec, err := outputs.Lookup(ctx, c, s.Action)
	if err != nil {
		rec = &cache.Record{} // the sizes are not known
	}
	for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
		kind, sum, ok := strings.Cut(s.Outputs[name], ":")
		if !ok || kind != string(cache.Blob) && kind != string(cache.Tree) {
			continue
		}
		pins = append(pins, stepFact[pin]{s.Address, name, pin{sum, rec.Outputs[name].Ref.Size}})
		var err error
		switch s.Kind + " " + name {
		case "grade report":
			var g grading.Graded
			if g, err = outputs.Read[grading.Graded](ctx, c, s.Outputs[name]); err == nil {
				m.reports[s.Address] = g
			}
		case "agent-run shim_log":
			err = d.addRefused(ctx, c, s.Address, sum)
		}
		switch {
		case errors.Is(err, cache.ErrNotFound), errors.Is(err, cache.ErrCorrupt):
			d.Missing++
		case err != nil:
			return nil, fmt.Errorf("read %s of %s: %w", name, s.Address, err)
		}
	}
	return pins, nil
}

// addModels adds an attempt's use of models.
func (d *reportData) addModels(s *history.StepSummary) {
	var stats struct{ Models map[string]results.ModelUse }
	if s.Kind != conditions.AttemptKind || json.Unmarshal([]byte(s.Outputs["stats"]), &stats) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(stats.Models)) {
		if len(d.Models) < rowsShown {
			d.Models = append(d.Models, stepFact[results.ModelUse]{s.Address, name, stats.Models[name]})
		}
	}
}

// addRefused adds the calls of an attempt that the package mlebench refused.
func (d *reportData) addRefused(ctx context.Context, c Results, address, sum string) error {
	id, err := digest.ParseContentID(sum)
	if err != nil {
		return err
	}
	text, err := cache.Get(ctx, c, id, maxDocument)
	if err != nil {
		return err
	}
	var tally shim.Tally
	for r := range jsonLines[shim.Record](text) {
		tally.Add(r)
	}
	groups := tally.Groups()
	if tally.Others > 0 {
		groups = append(groups, shim.Group{Call: "others", Times: tally.Others})
	}
	for _, g := range groups {
		d.Refused = append(d.Refused, stepFact[shim.Group]{address, g.Call, g})
	}
	return nil
}

// addScores adds the graded attempts by competition, with the reasons that are known of steps
// by address.
func (d *reportData) addScores(graded []*results.Attempt, catalog *competitions.Catalog, reasons map[string]string) {
	results.Sort(graded)
	classes := results.Classes(graded)
	for _, list := range lists.Grouped(graded, func(a *results.Attempt) string { return a.Report.CompetitionID }) {
		r := list[0].Report
		c := reportCompetition{Title: r.CompetitionID, External: r.MetricExternal}
		if def, err := catalog.Get(r.CompetitionID); err == nil {
			c.Title, c.Metric, c.Note = def.Title, def.Facts.MetricName, def.Medals.Note
		}
		var rows []page.Row
		for _, a := range list {
			row := scoreRowOf(a, cmp.Or(reasons[a.Address], reasons[a.GradeAddress], a.Reason()))
			if len(classes) > 1 {
				row.Isolation += ", class " + results.Letter(slices.Index(classes, a.Class()))
			}
			if rows = page.AddScores(rows, a.Agent); a.Report.ExactScore != nil {
				rows = page.AddScores(rows, a.Agent, float64(*a.Report.ExactScore))
			}
			c.Scores = append(c.Scores, row)
		}
		c.AmongPeople = page.Distribution(peopleOf(catalog, r), rows)
		d.Competitions = append(d.Competitions, c)
	}
}

func scoreRowOf(a *results.Attempt, why string) scoreRow {
	r := &a.Report
	row := scoreRow{Agent: a.Agent, Seed: a.Seed, Isolation: conditions.Described(r.Conditions), Why: why, AboveMedian: r.AboveMedian, Integrity: page.Integrity(a), Evidence: a.Integrity().Lines()}
	row.Integrity.Text, _, _ = strings.Cut(row.Integrity.Text, ":")
	if a.WithoutMedals() == "" {
		row.Medal = results.Medal(*r)
	}
	if r.ExactScore != nil {
		row.Score = page.Score(float64(*r.ExactScore))
	}
	if r.Rank != nil && (r.ExactScore == nil || !math.IsNaN(float64(*r.ExactScore))) {
		row.Rank = results.Place(*r.Rank, r.Teams)
	}
	return row
}

// addNodes adds the run's use of a cluster's nodes.
func (d *reportData) addNodes(sum *history.Summary) {
	for _, u := range sum.Nodes() {
		var jobs []page.Bar
		for i := range sum.Steps {
			s := &sum.Steps[i]
			for _, span := range s.Spans {
				if span.On != u.On || span.Node != u.Node {
					continue
				}
				end := span.End
				if end.IsZero() {
					end = sum.Last
				}
				jobs = append(jobs, page.Bar{Address: s.Address, Kind: s.Kind, Status: s.Status, Started: span.Start, Duration: end.Sub(span.Start)})
			}
		}
		d.Nodes = append(d.Nodes, nodeRow{u, page.Timeline(sum.Started, jobs, d.Kinds)})
	}
}
