package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
)

// barsShown is the largest number of executions in a timeline; of more, it draws the
// longest.
const barsShown = 1000

const (
	timelineWidth = 960.0
	laneHeight    = 18.0
	axisHeight    = 22.0
)

// Bar is one execution in a timeline.
type Bar struct {
	Address, Kind string
	Status        event.Status
	Started       time.Time
	Duration      time.Duration
}

// Kinds are the kinds of executions, in the order in which they first appear.
func Kinds(bars []Bar) []string {
	return lists.Of(lists.Grouped(bars, func(b Bar) string { return b.Kind }), func(same []Bar) string { return same[0].Kind })
}

// Timeline draws when each step ran: time to the right from the start of the
// run, steps that ran at the same time in lanes below each other. The colour of a
// bar is the place of its kind among the kinds. It returns "" when nothing ran;
// bars without a start are left out.
func Timeline(run time.Time, all []Bar, kinds []string) template.HTML {
	bars := executed(all)
	if len(bars) == 0 {
		return ""
	}
	start, end := bars[0].Started, bars[0].Started
	for _, s := range bars {
		if stop := s.Started.Add(s.Duration); stop.After(end) {
			end = stop
		}
	}
	if run.Before(start) && !run.IsZero() {
		start = run
	}
	total := max(end.Sub(start), time.Millisecond)
	lanes := assignLanes(bars)
	height := axisHeight + laneHeight*float64(slices.Max(lanes)+1)
	var d drawing
	d.open("img", timelineWidth, height, "timeline", "When each step ran")
	d.timeAxis(total, height)
	for i, s := range bars {
		d.bar(s, lanes[i], s.Started.Sub(start), total, slices.Index(kinds, s.Kind))
	}
	return d.close()
}

// executed lists the steps that ran, by start; of very many, the longest.
func executed(steps []Bar) []Bar {
	bars := slices.DeleteFunc(slices.Clone(steps), func(s Bar) bool { return s.Started.IsZero() })
	if len(bars) > barsShown {
		slices.SortStableFunc(bars, func(a, b Bar) int { return int(b.Duration - a.Duration) })
		bars = bars[:barsShown]
	}
	slices.SortStableFunc(bars, func(a, b Bar) int { return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.Address, b.Address)) })
	return bars
}

// assignLanes puts each bar into the first lane that is free when it starts.
func assignLanes(bars []Bar) []int {
	var freeAt []time.Time
	lanes := make([]int, len(bars))
	for i, s := range bars {
		lane := slices.IndexFunc(freeAt, func(t time.Time) bool { return !t.After(s.Started) })
		if lane < 0 {
			lane = len(freeAt)
			freeAt = append(freeAt, time.Time{})
		}
		freeAt[lane] = s.Started.Add(s.Duration)
		lanes[i] = lane
	}
	return lanes
}

func (d *drawing) timeAxis(total time.Duration, height float64) {
	step := tickStep(total)
	for at := time.Duration(0); at <= total; at += step {
		x := number(timelineWidth * float64(at) / float64(total))
		fmt.Fprintf(d, `<path class="line grid" d="M%s %sV%s"/>`, x, number(axisHeight-6), number(height))
		anchor := "middle"
		switch {
		case at == 0:
			anchor = "start"
		case at > total-step/4:
			anchor = "end"
		}
		fmt.Fprintf(d, `<text class="ink" x="%s" y="11" font-size="11" text-anchor="%s">%s</text>`+"\n", x, anchor, view.Duration(at))
	}
}

// tickStep returns a round distance that gives four to ten marks.
func tickStep(total time.Duration) time.Duration {
	for _, step := range []time.Duration{
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if total/step <= 9 {
			return step
		}
	}
	return (total / 8).Round(time.Hour)
}

func (d *drawing) bar(s Bar, lane int, offset, total time.Duration, color int) {
	x := timelineWidth * float64(offset) / float64(total)
	width := max(1.5, timelineWidth*float64(s.Duration)/float64(total))
	x = min(x, timelineWidth-1.5)
	y := axisHeight + laneHeight*float64(lane)
	class := view.Either(s.Status == event.Failed, "bar failed", fmt.Sprintf("bar c%d", color%Palette))
	fmt.Fprintf(d, `<g><title>%s: %s, %s</title><rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="2"/>`,
		html.EscapeString(s.Address), html.EscapeString(string(s.Status)), view.Duration(s.Duration), class, number(x), number(y+1), number(width), number(laneHeight-3))
	if text := barText(s, int((width-8)/6.4)); text != "" {
		fmt.Fprintf(d, `<text class="onbar" x="%s" y="%s" font-size="10.5">%s</text>`, number(x+4), number(y+laneHeight-5.5), html.EscapeString(text))
	}
	d.WriteString("</g>\n")
}

// barText returns the longest part of an address that fits on a bar: all of it, its key,
// or the end of its key.
func barText(s Bar, width int) string {
	text := strings.TrimPrefix(s.Address, "step.")
	if len([]rune(text)) <= width {
		return text
	}
	_, key, keyed := strings.Cut(text, "[")
	if !keyed || width < 5 {
		return ""
	}
	runes := []rune(strings.Trim(key, `"]`))
	if len(runes) > width {
		runes = append([]rune("…"), runes[len(runes)-width+1:]...)
	}
	return string(runes)
}
