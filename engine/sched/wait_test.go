package sched

import (
	"fmt"
	"strings"
	"testing"
)

// waiting has a lab note what it is told of tasks that wait.
func (l *lab) waiting() {
	l.o.OnWait = func(waits []Wait) {
		var parts []string
		for _, w := range waits {
			text := fmt.Sprintf("%d for %s, next %s, %d hold it", w.Tasks, w.Resource, l.tasks[w.Next].Name, w.Holders)
			if w.Elsewhere {
				text += " and others"
			}
			parts = append(parts, text)
		}
		l.note("wait [%s]", strings.Join(parts, "; "))
	}
}

func TestWaits(t *testing.T) {
	scene(t, func(l *lab) {
		l.waiting()
		l.o.Capacity = Capacity{CPUs: 8, MemoryBytes: 100, Devices: []string{"gpu0", "gpu1"}}
		for i := range 4 {
			l.add(fmt.Sprint("g", i), 10*s, nil).Needs = Resources{CPUs: 1, GPUs: 1}
		}
		l.add("m0", 5*s, nil).Needs = Resources{CPUs: 1, MemoryBytes: 60}
		l.add("m1", 5*s, nil).Needs = Resources{CPUs: 1, MemoryBytes: 50}
		l.run(l.t.Context())
		var told []string
		for _, line := range l.log {
			if strings.Contains(line, "wait") {
				told = append(told, line)
			}
		}
		want := []string{
			"0s wait [2 for gpu, next g2, 2 hold it; 1 for memory, next m1, 1 hold it]",
			"5s wait [2 for gpu, next g2, 2 hold it]",
			"10s wait [1 for gpu, next g3, 2 hold it]",
			"10s wait []",
		}
		if strings.Join(told, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s", strings.Join(told, "\n"))
		}
	})
}

// TestWaitsAreToldInTime changes what waits faster than it is told: the last
// state is told all the same.
func TestWaitsAreToldInTime(t *testing.T) {
	scene(t, func(l *lab) {
		l.waiting()
		l.o.Parallelism = 2
		l.add("long", 10*s, nil).Weight = 100 * s
		for i := range 4 {
			l.add(fmt.Sprint(i), s/10, nil)
		}
		l.add("second", 9*s, nil)
		l.add("waits", s, nil)
		l.run(l.t.Context())
		var told []string
		for _, line := range l.log {
			if strings.Contains(line, "wait [") {
				told = append(told, line)
			}
		}
		want := []string{
			"0s wait [5 for slots, next 1, 2 hold it]", // 0 has started
			"500ms wait [1 for slots, next waits, 2 hold it]",
			"9.4s wait []",
		}
		if strings.Join(told, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s", strings.Join(told, "\n"))
		}
	})
}
