package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// summary writes the first page: what users wait for, the picture, the aims that are
// missed, and the machines.
func summary(tables []table, all map[string]results) string {
	var s strings.Builder
	s.WriteString("| what a user waits for | mleflow | another program | times less |\n|---|---:|---:|---:|\n")
	for _, t := range tables {
		for _, w := range t.waits {
			s.WriteString(t.waited(w, all[t.name]))
		}
	}
	s.WriteString("\n![how many times faster or leaner mleflow is than each of the others](" + picture + ")\n\n")
	var missed strings.Builder
	reached, known := 0, 0
	for _, t := range tables {
		for _, row := range t.rows {
			for _, a := range row.aims {
				got, ok := t.reached(a, row.benchmark, all[t.name])
				if !ok {
					continue
				}
				known++
				if got {
					reached++
					continue
				}
				measured, _ := all[t.name].cell(row.benchmark, a.column)
				fmt.Fprintf(&missed, "| [%s](%s#%s) | %s | %s | %s %s |\n", t.name, page, t.name, row.text, measured, a.column.head, a.limit())
			}
		}
	}
	fmt.Fprintf(&s, "%d of the %d aims that these sizes can judge are reached.", reached, known)
	if missed.Len() > 0 {
		s.WriteString(" Missed, with the reason on the page behind the link:\n\n| table | | measured | aim |\n|---|---|---:|---|\n" + missed.String() + "\n")
	} else {
		s.WriteString("\n\n")
	}
	return s.String() + origin(tables, all)
}

// origin says which machines the figures are from, and how long the runs took.
func origin(tables []table, all map[string]results) string {
	machines := map[string][]string{}
	var took time.Duration
	for _, t := range tables {
		if r := all[t.name]; !r.empty() {
			m := r.now.origin[machineWord]
			machines[m] = append(machines[m], t.name)
			d, _ := time.ParseDuration(r.now.origin[tookWord])
			took += d
		}
	}
	names := slices.Sorted(maps.Keys(machines))
	for i, m := range names {
		if len(names) > 1 {
			names[i] += " (" + strings.Join(machines[m], ", ") + ")"
		}
	}
	return fmt.Sprintf("Measured on %s, in %v.\n", strings.Join(names, "; "), took)
}

// smallSize follows the name of what was measured at less than its full size.
const smallSize = " (small size)"

// waited writes the row of a time that users wait for.
func (t *table) waited(w wait, r results) string {
	ours, ok := r.now.figures[w.benchmark][w.unit]
	if !ok {
		return ""
	}
	other, times := "–", "–"
	if theirs, ok := r.now.figures[w.theirBenchmark][w.theirUnit]; ok {
		other, times = w.other+": "+duration(theirs, w.theirUnit), figure(theirs/ours, "")
	}
	text := w.text
	if !t.isFull(r) {
		text += smallSize
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", text, duration(ours, w.unit), other, times)
}

// duration writes a time in the unit that its size calls for. Units of milliseconds
// have "ms" among their words; others are seconds.
func duration(v float64, unit string) string {
	if slices.Contains(strings.Split(unit, "-"), "ms") {
		v /= 1000
	}
	if v < 1 {
		return figure(v*1000, "ms")
	}
	return figure(v, "s")
}
