package page

import (
	"fmt"
	"html"
	"html/template"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/results"
)

// hoursShown is the largest number of agents whose hours are drawn.
const hoursShown = 30

// Hours draws where the time of attempts went: a bar of parts for each agent and, at the
// end, of all, each as wide as the others. It also returns the names of the parts, whose
// places are their colours. It returns "" for no rows.
func Hours(rows []*results.Hours) (template.HTML, []string) {
	if len(rows) == 0 {
		return "", nil
	}
	all := rows[len(rows)-1]
	if len(rows) > hoursShown {
		rows = append(rows[:hoursShown:hoursShown], all)
	}
	if len(rows) == 2 { // one agent is all
		rows = rows[1:]
	}
	const left, right = 170.0, 340.0
	var d drawing
	d.open("img", timelineWidth, laneHeight*float64(len(rows))*1.4, "timeline", "Where the time of attempts went")
	for i, h := range rows {
		y := 1.4 * laneHeight * float64(i)
		d.text(0, y+laneHeight-5, 11, "start", clip(view.Either(h == all, "all", h.Agent), 26))
		x := left
		for color, p := range h.Parts {
			if p.Seconds == nil || *p.Seconds <= 0 {
				continue
			}
			width := (timelineWidth - left - right) * *p.Seconds / h.WallSeconds
			fmt.Fprintf(&d, `<g><title>%s: %s, %.0f%%</title><rect class="bar c%d" x="%s" y="%s" width="%s" height="%s"/></g>`+"\n",
				html.EscapeString(p.Name), view.HourText(*p.Seconds), 100**p.Seconds/h.WallSeconds, color%Palette, number(x), number(y+1), number(width), number(laneHeight-3))
			x += width
		}
		d.text(timelineWidth-right+8, y+laneHeight-5, 11, "start", hourSum(h))
	}
	return d.close(), lists.Of(all.Parts, func(p results.HourPart) string {
		return p.Name + view.When(p.Seconds == nil, " (not measured)")
	})
}

// hourSum says how much all parts are together.
func hourSum(h *results.Hours) string {
	gpu := view.When(h.GPUHours > 0, fmt.Sprintf(", %.1f GPU h", h.GPUHours))
	return view.HourText(h.WallSeconds) + " of " + view.Plural(h.Attempts, "attempt") + gpu + view.HourCost(h)
}
