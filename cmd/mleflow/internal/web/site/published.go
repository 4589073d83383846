package site

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Recomputed says what the public grading reports of a published row give: Differs the
// splits with other figures than published, and Why why there are none.
type Recomputed struct {
	Differs []string `json:"differs,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// publishedSplits are the splits of published rows, in the order of their columns.
func publishedSplits(catalog *competitions.Catalog) (splits []board.SplitIDs) {
	for _, name := range []competitions.Set{"low", "medium", "high", "all"} {
		ids, _ := catalog.Set(name) // every catalog has these
		splits = append(splits, board.SplitIDs{Name: string(name), IDs: ids})
	}
	return splits
}

// claims are the published figures of a split.
func (r *Reported) claims(split string) (mean, sem *float64) {
	return *r.numbers()[split], *r.numbers()[split+"_sem"]
}

// Recompute computes rows from the reports of their experiments in a folder of run
// groups. It returns those that it could not, with the reasons.
func Recompute(rows []Reported, runs string, catalog *competitions.Catalog) (left []string) {
	splits := publishedSplits(catalog)
	for i := range rows {
		r := &rows[i]
		r.Recomputed = &Recomputed{}
		if err := r.recompute(runs, splits); err != nil {
			r.Recomputed.Why = strings.ReplaceAll(err.Error(), runs, "the run groups")
			left = append(left, cmp.Or(r.Experiment, r.Agent)+": "+r.Recomputed.Why)
		}
	}
	return left
}

func (r *Reported) recompute(runs string, splits []board.SplitIDs) error {
	if r.Experiment == "" {
		return errors.New("the row names no experiment")
	}
	found, err := rungroup.ReadExperiment(runs, r.Experiment)
	if err != nil {
		return err
	}
	file, err := board.ReadPaths(found.Reports)
	if err != nil {
		return err
	}
	all, err := board.Selection{Mixed: true, Seeds: board.Seeds{PadMissing: r.Padded == "yes"}, Splits: splits}.Of(file, found.Reports)
	if err != nil {
		return err
	}
	for _, split := range splits {
		mean, sem := r.claims(split.Name)
		e, known := all.Board.Splits[split.Name][shownFigure]
		if !claimed(mean, e.Mean) || !claimed(sem, e.SEM) || !known && mean != nil {
			r.Recomputed.Differs = append(r.Recomputed.Differs, split.Name+" "+cmp.Or(all.Board.Skipped[split.Name], rateCell((*float64)(&e.Mean), (*float64)(&e.SEM))))
		}
	}
	return nil
}

// claimed reports whether a published figure is a value with two decimals, rounded or
// cut off. A figure that was not published is.
func claimed(published *float64, value grading.Number) bool {
	return published == nil || math.Abs(*published-float64(value)) < 0.01
}

// misreported finds the rows whose reports give other figures.
func (s *Site) misreported() {
	for _, r := range s.Reported {
		if r.Recomputed != nil && len(r.Recomputed.Differs) > 0 {
			s.Findings = append(s.Findings, Finding{Kind: Misreported, About: r.Experiment, Text: "the published row of " + r.Agent + " has other figures than its grading reports, which give " + strings.Join(r.Recomputed.Differs, ", ")})
		}
	}
}

// Published has the rows that can be compared with published ones, with their
// places, and below them the published ones, which have none.
func (s *Site) Published() page.Grid {
	var rows []publishedRow
	splits := publishedSplits(s.catalog)
	for _, t := range s.Tables {
		for _, a := range t.Agents {
			counted, _ := conditions.Counted(a.rows, func(r *Row) []string { return r.Report.Conditions })
			flags := lists.Of(counted, func(r *Row) board.Flags { return board.FlagsOf(r.Report) })
			if b, err := board.NewBoard(flags, splits, board.Seeds{}); err == nil && t.Task == string(competitions.TaskReference) && t.Version == "v1" && !t.Unchecked {
				rows = append(rows, a.published(b))
			}
		}
	}
	for _, r := range s.Reported {
		rows = append(rows, r.published())
	}
	columns := []page.Column[publishedRow]{
		texts("Place", func(p publishedRow) string { return cmp.Or(p.place, "–") }), cells("Agent", func(p publishedRow) cell { return p.agent }), texts("LLM(s) used", func(p publishedRow) string { return cmp.Or(p.Models, "–") }),
	}
	for i, name := range []string{">Low == Lite (%)", ">Medium (%)", ">High (%)", ">All (%)"} {
		columns = append(columns, texts(name, func(p publishedRow) string { return rateCell(p.claims(splits[i].Name)) }))
	}
	return page.NewGrid("Recomputed and published rows", rows, append(columns, texts(">Running Time (hours)", func(p publishedRow) string { return cmp.Or(p.Hours, "–") }), texts("Date", func(p publishedRow) string { return cmp.Or(p.Date, "–") }),
		texts("Note", func(p publishedRow) string { return p.note }), texts("Source code", func(p publishedRow) string { return cmp.Or(p.SourceCode, "–") }),
		texts("Grading reports", func(p publishedRow) string { return cmp.Or(p.GradingReports, "–") }), cells("Checked", func(p publishedRow) cell { return p.checked }), cells("Source", func(p publishedRow) cell { return p.source }))...)
}

// publishedRow is a row of the table of published rows.
type publishedRow struct {
	*Reported
	place, note            string
	agent, checked, source cell
}

func (a *Agent) published(b board.Board) publishedRow {
	out := Reported{Agent: a.Name, Models: strings.Join(a.Models, " "), GradingReports: "in the bundle", Hours: conditions.Hours(conditionsOf(a.rows)...)}
	numbers := out.numbers()
	for split, by := range b.Splits {
		e, known := by[shownFigure]
		if known {
			*numbers[split] = (*float64)(&e.Mean)
		}
		if known && b.SeedsPerSplit[split] > 1 {
			*numbers[split+"_sem"] = (*float64)(&e.SEM)
		}
	}
	for _, r := range a.rows {
		out.Date = max(out.Date, r.Bundle.Started.UTC().Format(time.DateOnly))
	}
	return publishedRow{&out, strings.TrimSpace(a.ClassLetter + " " + a.place()), "", cell{Text: a.Name, Link: a.path()}, a.checked(), cell{Text: "bundle", Link: a.path()}}
}

// checked says how the agent's rows were checked.
func (a *Agent) checked() cell {
	return pill(standingText(a.Standings), view.Either(a.Standings[verify.Claimed] > 0, "warn", "good"))
}

// place is the place on the table, "–" without one.
func (a *Agent) place() string { return cmp.Or(a.PlaceText(), "–") }

// letter is that of the class of an agent, also on a table of one class.
func letter(a aggregate.Agent) string { return cmp.Or(a.ClassLetter, results.Letter(0)) }

func (r *Reported) published() publishedRow {
	p := publishedRow{Reported: r, note: r.Note, agent: outside(r.Agent, r.URL), checked: pill("reported, not verified", "warn"), source: outside("–", cmp.Or(r.Source, r.URL))}
	if p.source.Link != "" {
		p.source.Text = strings.TrimSuffix("source, read "+r.Read, ", read ")
	}
	switch c := r.Recomputed; {
	case c == nil || c.Why != "":
	case len(c.Differs) > 0:
		p.checked = pill("its reports differ", "bad")
		p.note = strings.TrimPrefix(p.note+"; its reports give "+strings.Join(c.Differs, ", "), "; ")
	default:
		p.checked = pill("recomputed from its reports", "good")
	}
	return p
}

// rateCell has two decimals, as published figures have.
func rateCell(mean, sem *float64) string {
	switch {
	case mean == nil:
		return "–"
	case sem == nil:
		return fmt.Sprintf("%.2f", *mean)
	}
	return fmt.Sprintf("%.2f ± %.2f", *mean, *sem)
}

// Reported is a published row that nothing here vouches for. The figures are percentages
// of competitions with any medal, by split, with their standard errors; nil is unknown.
type Reported struct {
	Agent     string   `json:"agent"`
	Models    string   `json:"models,omitempty"`
	Low       *float64 `json:"low,omitempty"`
	LowSEM    *float64 `json:"low_sem,omitempty"`
	Medium    *float64 `json:"medium,omitempty"`
	MediumSEM *float64 `json:"medium_sem,omitempty"`
	High      *float64 `json:"high,omitempty"`
	HighSEM   *float64 `json:"high_sem,omitempty"`
	All       *float64 `json:"all,omitempty"`
	AllSEM    *float64 `json:"all_sem,omitempty"`
	Hours     string   `json:"hours,omitempty"`
	Date      string   `json:"date,omitempty"`
	Note      string   `json:"note,omitempty"`
	// SourceCode and GradingReports say whether they can be had.
	SourceCode     string `json:"source_code,omitempty"`
	GradingReports string `json:"grading_reports,omitempty"`
	// URL is the agent's page, Source where the row was read, on the day Read.
	URL    string `json:"url,omitempty"`
	Source string `json:"source,omitempty"`
	Read   string `json:"read,omitempty"`
	// Experiment names the run groups with its reports. With Padded, "yes", missing
	// reports count as no submission.
	Experiment string `json:"experiment,omitempty"`
	Padded     string `json:"padded,omitempty"`
	// Recomputed are the figures of those reports; nil if none were given. It is never
	// read from a file.
	Recomputed *Recomputed `json:"recomputed,omitempty"`
}

// maxReported is the largest file of published rows that is read.
const maxReported = 4 << 20

// ReadReported reads published rows: CSV with a header, or an array of objects in
// JSON, by the suffix of the path. The names of columns and fields are the same.
func ReadReported(path string) ([]Reported, error) {
	rows, err := readReported(path)
	if err != nil {
		return nil, fmt.Errorf("read published rows: %w", err)
	}
	return rows, nil
}

func readReported(path string) ([]Reported, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReported+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxReported:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxReported>>20)
	}
	if !strings.HasSuffix(path, ".json") {
		text, err = csvToJSON(text)
	}
	var rows []Reported
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		err = dec.Decode(&rows)
	}
	for i := 0; i < len(rows) && err == nil; i++ {
		if err = rows[i].check(); err != nil {
			err = fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// numbers are the places of the figures, by the names of their columns.
func (r *Reported) numbers() map[string]**float64 {
	return map[string]**float64{"low": &r.Low, "low_sem": &r.LowSEM, "medium": &r.Medium, "medium_sem": &r.MediumSEM, "high": &r.High, "high_sem": &r.HighSEM, "all": &r.All, "all_sem": &r.AllSEM}
}

// csvToJSON makes an object of each row; an empty cell is no field.
func csvToJSON(text []byte) ([]byte, error) {
	cells, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	rows := []map[string]any{}
	for n, row := range cells[min(1, len(cells)):] {
		object := map[string]any{}
		for i, name := range cells[0] {
			cell := strings.TrimSpace(row[i])
			switch _, number := new(Reported).numbers()[name]; {
			case cell == "" && name != "agent":
			case number:
				if object[name], err = strconv.ParseFloat(cell, 64); err != nil {
					return nil, fmt.Errorf("row %d: %s is %q, which is not a number", n+1, name, cell)
				}
			default:
				object[name] = cell
			}
		}
		rows = append(rows, object)
	}
	return json.Marshal(rows)
}

func (r *Reported) check() error {
	if r.Agent == "" {
		return fmt.Errorf("it names no agent")
	}
	for name, v := range r.numbers() {
		if *v != nil && !(**v >= 0 && **v <= 100) {
			return fmt.Errorf("%s is %v, which is not a percentage", name, **v)
		}
	}
	for name, address := range map[string]string{"url": r.URL, "source": r.Source} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
			return fmt.Errorf("%s is %q, which is not an address of the web", name, address)
		}
	}
	switch {
	case r.Recomputed != nil:
		return fmt.Errorf("recomputed cannot be given; name the folder of the reports with --runs-dir")
	case r.Padded != "" && r.Padded != "yes" && r.Padded != "no":
		return fmt.Errorf("padded is %q; it is yes or no", r.Padded)
	}
	return nil
}
