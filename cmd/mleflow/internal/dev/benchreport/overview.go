package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// summary writes what is said of all tables: the machines, the picture, and how
// many aims are reached.
func summary(tables []table, all map[string]results) string {
	machines := map[string][]string{}
	reached, known := 0, 0
	var took time.Duration
	var missed []string
	for _, t := range tables {
		r := all[t.name]
		if r.empty() {
			continue
		}
		m := r.now.origin[machineWord]
		machines[m] = append(machines[m], t.name)
		d, _ := time.ParseDuration(r.now.origin[tookWord])
		took += d
		for _, row := range t.rows {
			for _, a := range row.aims {
				got, ok := t.reached(a, row.benchmark, r)
				if ok {
					known++
				}
				if ok && got {
					reached++
				} else if ok && !slices.Contains(missed, t.name) {
					missed = append(missed, t.name)
				}
			}
		}
	}
	var s strings.Builder
	names := slices.Sorted(maps.Keys(machines))
	for i, m := range names {
		if len(names) > 1 {
			m += " (" + strings.Join(machines[m], ", ") + ")"
		}
		names[i] = m
	}
	fmt.Fprintf(&s, "Measured on %s, in %v. ", strings.Join(names, "; "), took)
	fmt.Fprintf(&s, "%d of the %d aims that could be judged at these sizes are reached", reached, known)
	if len(missed) > 0 {
		fmt.Fprintf(&s, "; the others are in the tables %s", strings.Join(missed, ", "))
	}
	return s.String() + ".\n\n![how many times faster or leaner mleflow is than each of the others](" + picture + ")\n"
}
