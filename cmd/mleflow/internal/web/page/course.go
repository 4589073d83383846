package page

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// Course is what happened in one attempt on one time axis: its scores, and below
// them what it used and did.
type Course struct {
	Curves
	Lanes []Lane
}

// Lane is one quantity or one kind of events over time.
type Lane struct {
	Name string
	// Samples are drawn as an area from zero on. Write writes a value.
	Samples []Sample
	Write   func(float64) string
	// Events are drawn as marks.
	Events []Event
}

// Sample is a value from a time on, until that of the next one.
type Sample struct {
	At    time.Duration
	Value float64
}

// Event is something that happened at a time. Link leads to it, "" to nothing.
type Event struct {
	At         time.Duration
	Text, Link string
	Bad        bool
}

const (
	courseWidth  = 1160.0
	areaHeight   = 58.0
	eventsHeight = 30.0
	laneGap      = 14.0
)

func (l Lane) height() float64 {
	if len(l.Samples) > 0 {
		return areaHeight
	}
	return eventsHeight
}

// Draw draws the course, or returns "" if nothing is known.
func (c Course) Draw() template.HTML {
	d := &curves{Curves: c.Curves, span: emptySpan(), wide: courseWidth}
	for _, l := range c.Lanes {
		for _, s := range l.Samples {
			d.Until = max(d.Until, s.At)
		}
		for _, e := range l.Events {
			d.Until = max(d.Until, e.At)
		}
	}
	scored := d.measure()
	if !scored && len(c.Lanes) == 0 {
		return ""
	}
	top, height := laneGap, 0.0
	if scored {
		top = curveHeight + laneGap
	}
	for _, l := range c.Lanes {
		height += l.height() + laneGap
	}
	bottom := top + height
	d.open("group", courseWidth, bottom+24, "plot course", "The attempt over time"+at(c.ID))
	fmt.Fprintf(d, `<g data-left="%s" data-right="%s" data-until="%d" data-bottom="%s">`+"\n", number(curveLeft), number(d.right()), d.Until.Milliseconds(), number(bottom))
	if scored {
		d.plot()
		d.scores()
	}
	for _, l := range c.Lanes {
		d.lane(l, top)
		top += l.height() + laneGap
	}
	if len(c.Lanes) > 0 {
		d.times(bottom)
	}
	d.WriteString("</g>")
	return d.close()
}

func at(competition string) string {
	if competition == "" {
		return ""
	}
	return " at " + competition
}

// scores gives a reader the values of the scores.
func (d *curves) scores() {
	for _, l := range d.Lines {
		var read []Sample
		for _, m := range l.Moments {
			if len(finite([]float64{m.Score})) > 0 {
				read = append(read, Sample{m.At, m.Score})
			}
		}
		d.values(l.Name, read, Score)
		d.WriteString("</g>\n")
	}
}

// values opens a group with the values of a lane, which the script of a page reads.
func (d *curves) values(name string, samples []Sample, write func(float64) string) {
	var times, texts strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&times, "%d ", s.At.Milliseconds())
		texts.WriteString(html.EscapeString(write(s.Value)) + "|")
	}
	fmt.Fprintf(d, `<g data-lane="%s" data-at="%s" data-text="%s">`+"\n", html.EscapeString(name), strings.TrimSpace(times.String()), strings.TrimSuffix(texts.String(), "|"))
}

// lane draws a lane below a height.
func (d *curves) lane(l Lane, top float64) {
	bottom := top + l.height()
	d.text(curveLeft-8, bottom-l.height()/2+4, 12, "end", l.Name)
	fmt.Fprintf(d, `<path class="line grid" d="M%s %sH%s"/>`+"\n", number(curveLeft), number(bottom), number(d.right()))
	if len(l.Samples) > 0 {
		d.area(l, top, bottom)
	}
	for _, e := range l.Events {
		d.event(e, (top+bottom)/2)
	}
}

// area draws samples, and writes the largest.
func (d *curves) area(l Lane, top, bottom float64) {
	most := 0.0
	for _, s := range l.Samples {
		most = max(most, s.Value)
	}
	d.values(l.Name, l.Samples, l.Write)
	fmt.Fprintf(d, `<path class="lane" d="M%s %s`, number(d.x(l.Samples[0].At)), number(bottom))
	for i, s := range l.Samples {
		if i > 0 {
			fmt.Fprintf(d, "H%s", number(d.x(s.At)))
		}
		fmt.Fprintf(d, "V%s", number(bottom-s.Value/max(most, 1e-12)*(bottom-top)))
	}
	fmt.Fprintf(d, `V%sZ"><title>%s</title></path>`+"\n", number(bottom), html.EscapeString(l.Name+": at most "+l.Write(most)))
	d.text(d.right()+6, top+10, 11, "start", l.Write(most))
	d.WriteString("</g>\n")
}

// event draws a mark at a time.
func (d *curves) event(e Event, y float64) {
	class := "happened"
	if e.Bad {
		class = "happened bad"
	}
	mark := fmt.Sprintf(`<path class="%s" d="M%s %sv14"><title>%s</title></path>`, class, number(d.x(e.At)), number(y-7), html.EscapeString(view.Duration(e.At)+": "+e.Text))
	if e.Link != "" {
		mark = fmt.Sprintf(`<a href="%s" aria-label="%s">%s</a>`, html.EscapeString(e.Link), html.EscapeString(e.Text+" after "+view.Duration(e.At)), mark)
	}
	d.WriteString(mark + "\n")
}
