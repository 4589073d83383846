package rehearse

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/plan"
)

// Write writes the report for people.
func (r *Report) Write(w io.Writer, style view.Style) {
	fmt.Fprintf(w, "%s, run %s%s\n\n", style.Bold("Rehearsal"), r.Run, view.After(", task ", r.Task))
	t := view.NewTable("competition", "agent", "ready", ">files read", "submission", ">score", ">time", ">memory", ">tokens")
	for i := range r.Rows {
		row := &r.Rows[i]
		t.Row(row.Competition, row.Agent, view.Either(row.Ready, "yes", "NO"), row.read(), row.submission(), view.Known((*float64)(row.Score), "-", score),
			view.Known(row.WallSeconds, "-", seconds), view.Known(row.PeakMemoryBytes, "-", bytes), view.Known(row.Tokens, "-", count))
	}
	t.Write(w, style)
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
func (row *Row) doubts() []string {
	if !row.Ready {
		return nil
	}
	return append(lists.Of(row.Packages, func(name string) string { return "without the package " + name }),
		lists.Of(row.Unopened, func(ending string) string { return "opened no file with " + ending })...)
}

// group are the attempts with the same text.
type group struct{ who, text string }

// grouped puts the attempts with the same text together, in order of appearance.
func (r *Report) grouped(texts func(*Row) []string) (list []group) {
	var all []group
	for i := range r.Rows {
		row := &r.Rows[i]
		for _, text := range texts(row) {
			all = append(all, group{row.Competition + " (" + row.Agent + ")", strings.ReplaceAll(text, row.Competition, "…")})
		}
	}
	for _, same := range lists.Grouped(all, func(g group) string { return g.text }) {
		list = append(list, group{plain.List(lists.Of(same, func(g group) string { return g.who })), same[0].text})
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

func score(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

func bytes(v float64) string { return view.Bytes(int64(v)) }

func count(v float64) string { return view.Count(int64(v)) }

func seconds(v float64) string { return view.Duration(time.Duration(v * float64(time.Second))) }

func (r *Real) write(w io.Writer, style view.Style) {
	fmt.Fprintf(w, "\n%s %s at %s%s.\n", style.Bold("The real run:"), view.Plural(r.Attempts, "attempt"), view.Plural(r.Competitions, "competition"),
		view.When(r.TimeLimitSeconds > 0, " of at most "+seconds(r.TimeLimitSeconds)))
	agents := "unknown, as no attempt ended"
	if r.AttemptSeconds.High > 0 {
		agents = fmt.Sprintf("%s of agents in all, up to %.1f days of a node that runs one at a time", hours(r.AttemptSeconds), r.AttemptSeconds.High/86400)
	}
	fmt.Fprintf(w, "  time:     %s%s\n", agents, view.When(r.GPUSeconds.High > 0, ", "+hours(r.GPUSeconds)+" of GPUs"))
	if r.Tokens != nil {
		fmt.Fprintf(w, "  tokens:   %s to %s\n", count(r.Tokens.Low), count(r.Tokens.High))
	}
	if r.CostUSD != nil {
		fmt.Fprintf(w, "  cost:     $%.2f to $%.2f\n", r.CostUSD.Low, r.CostUSD.High)
	}
	fmt.Fprintf(w, "  download: %s\n", r.download())
	if f := r.Forecast; f != nil && f.PeakBytes > 0 {
		fmt.Fprintf(w, "  disk:     %s stay in the cache, %s at most at once%s\n", view.Bytes(f.CacheBytes), view.Bytes(f.PeakBytes),
			view.When(f.Space.FreeBytes >= 0, "; "+view.Bytes(f.Space.FreeBytes)+" are free here"))
	}
	for _, text := range r.obstacles() {
		fmt.Fprintf(w, "  %s %s\n", style.Bad("missing:"), view.OneLine(text))
	}
	fmt.Fprintln(w, "Low: the agents do as much as in the rehearsal. High: they go on at the same rate\nuntil their time limit.")
}

func (r *Real) download() string {
	var parts view.Parts
	parts.If(r.DownloadBytes > 0 || len(r.Unsized) == 0, view.Bytes(r.DownloadBytes))
	parts.If(len(r.Unsized) > 0, "unknown for "+plain.List(r.Unsized))
	return parts.Join(", ")
}

// obstacles are all that prevents the real run here.
func (r *Real) obstacles() []string {
	list := view.Parts(slices.Clone(r.Obstacles))
	if f := r.Forecast; f != nil {
		list.If(f.Verdict == plan.TooLarge, "disk space: "+f.Warning)
	}
	list.If(len(r.TooLarge) > 0, "disk space for the data of "+plain.List(r.TooLarge))
	return list
}

func hours(r Range) string {
	return fmt.Sprintf("%s to %s", view.Roughly(time.Duration(r.Low*float64(time.Second))), view.Roughly(time.Duration(r.High*float64(time.Second))))
}
