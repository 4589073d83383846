package rehearse

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/plan"
)

// Write writes the report for people.
func (r *Report) Write(w io.Writer, style view.Style) error {
	task := ""
	if r.Task != "" {
		task = ", task " + r.Task
	}
	fmt.Fprintf(w, "%s, run %s%s\n\n", style.Bold("Rehearsal"), r.Run, task)
	t := view.NewTable("competition", "agent", "ready", ">files read", "submission", ">score", ">time", ">memory", ">tokens")
	for i := range r.Rows {
		row := &r.Rows[i]
		t.Row(row.Competition, row.Agent, yes(row.Ready), row.read(), row.submission(), row.score(), seconds(row.WallSeconds), bytes(row.PeakMemoryBytes), whole(row.Tokens))
	}
	if err := t.Write(w, style); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", r.headline(style))
	for _, g := range r.grouped((*Row).problems) {
		fmt.Fprintf(w, "  %s\n      %s\n", style.Bad(view.OneLine(g.who)), view.OneLine(g.text))
	}
	notes := r.grouped((*Row).doubts)
	if len(notes) > 0 {
		fmt.Fprintf(w, "\n%s\n", style.Bold("To look at, though they are ready:"))
	}
	for _, g := range notes {
		fmt.Fprintf(w, "  %s: %s\n", view.OneLine(g.text), view.OneLine(g.who))
	}
	r.Real.write(w, style)
	return nil
}

func (r *Report) headline(style view.Style) string {
	text := fmt.Sprintf("%d of %d ready", r.Ready, r.Attempts)
	if r.Ready == r.Attempts {
		return style.Good(text + ".")
	}
	return style.Bad(fmt.Sprintf("%s; %d not:", text, r.Attempts-r.Ready))
}

// problems returns the reason why an attempt is not ready, with the advice.
func (row *Row) problems() []string {
	switch {
	case row.Ready:
		return nil
	case row.Fix == "":
		return []string{row.Problem}
	}
	return []string{row.Problem + ". Fix: " + row.Fix}
}

// doubts returns what may be wrong with a ready attempt.
func (row *Row) doubts() (texts []string) {
	if !row.Ready {
		return nil
	}
	for _, name := range row.Packages {
		texts = append(texts, "without the package "+name)
	}
	for _, ending := range row.Unopened {
		texts = append(texts, "opened no file with "+ending)
	}
	return texts
}

// group are the attempts with the same text.
type group struct{ who, text string }

// grouped puts the attempts with the same text together, in order of appearance.
func (r *Report) grouped(texts func(*Row) []string) (list []group) {
	names := map[string][]string{}
	var order []string
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, text := range texts(row) {
			text = strings.ReplaceAll(text, row.Competition, "…")
			if names[text] == nil {
				order = append(order, text)
			}
			names[text] = append(names[text], row.Competition+" ("+row.Agent+")")
		}
	}
	for _, text := range order {
		list = append(list, group{plain.List(names[text]), text})
	}
	return list
}

func (row *Row) read() string {
	if row.Data == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d", row.Data.Opened, row.Data.Files)
}

func (row *Row) submission() string {
	switch {
	case row.Valid:
		return "valid"
	case row.Submitted:
		return "invalid"
	}
	return "none"
}

func (row *Row) score() string {
	if row.Score == nil {
		return "-"
	}
	return strconv.FormatFloat(float64(*row.Score), 'g', 5, 64)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "NO"
}

func seconds(v *float64) string {
	if v == nil {
		return "-"
	}
	return view.Duration(time.Duration(*v * float64(time.Second)))
}

func bytes(v *float64) string {
	if v == nil {
		return "-"
	}
	return view.Bytes(int64(*v))
}

func whole(v *float64) string {
	if v == nil {
		return "-"
	}
	return view.Count(int64(*v))
}

func (r *Real) write(w io.Writer, style view.Style) {
	fmt.Fprintf(w, "\n%s %s at %s", style.Bold("The real run:"), view.Plural(r.Attempts, "attempt"), view.Plural(r.Competitions, "competition"))
	if r.TimeLimitSeconds > 0 {
		fmt.Fprintf(w, " of at most %s", seconds(&r.TimeLimitSeconds))
	}
	fmt.Fprint(w, ".\n  time:     ")
	if r.AttemptSeconds.High > 0 {
		fmt.Fprintf(w, "%s of agents in all, up to %.1f days of a node that runs one at a time", hours(r.AttemptSeconds), r.AttemptSeconds.High/86400)
	} else {
		fmt.Fprint(w, "unknown, as no attempt ended")
	}
	if r.GPUSeconds.High > 0 {
		fmt.Fprintf(w, ", %s of GPUs", hours(r.GPUSeconds))
	}
	fmt.Fprintln(w)
	if r.Tokens != nil {
		fmt.Fprintf(w, "  tokens:   %s to %s\n", view.Count(int64(r.Tokens.Low)), view.Count(int64(r.Tokens.High)))
	}
	if r.CostUSD != nil {
		fmt.Fprintf(w, "  cost:     $%.2f to $%.2f\n", r.CostUSD.Low, r.CostUSD.High)
	}
	fmt.Fprintf(w, "  download: %s\n", r.download())
	if f := r.Forecast; f != nil && f.PeakBytes > 0 {
		fmt.Fprintf(w, "  disk:     %s stay in the cache, %s at most at once", view.Bytes(f.CacheBytes), view.Bytes(f.PeakBytes))
		if f.Space.FreeBytes >= 0 {
			fmt.Fprintf(w, "; %s are free here", view.Bytes(f.Space.FreeBytes))
		}
		fmt.Fprintln(w)
	}
	for _, text := range r.obstacles() {
		fmt.Fprintf(w, "  %s %s\n", style.Bad("missing:"), view.OneLine(text))
	}
	fmt.Fprintln(w, "Low: the agents do as much as in the rehearsal. High: they go on at the same rate\nuntil their time limit.")
}

func (r *Real) download() string {
	var parts []string
	if r.DownloadBytes > 0 || len(r.Unsized) == 0 {
		parts = append(parts, view.Bytes(r.DownloadBytes))
	}
	if len(r.Unsized) > 0 {
		parts = append(parts, "unknown for "+plain.List(r.Unsized))
	}
	return strings.Join(parts, ", ")
}

// obstacles are all that prevents the real run here.
func (r *Real) obstacles() []string {
	list := slices.Clone(r.Obstacles)
	if f := r.Forecast; f != nil && f.Verdict == plan.TooLarge {
		list = append(list, "disk space: "+f.Warning)
	}
	if len(r.TooLarge) > 0 {
		list = append(list, "disk space for the data of "+plain.List(r.TooLarge))
	}
	return list
}

func hours(r Range) string {
	return fmt.Sprintf("%s to %s", view.Roughly(time.Duration(r.Low*float64(time.Second))), view.Roughly(time.Duration(r.High*float64(time.Second))))
}
