package ui

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkIndex reads 20 runs of 500 attempts each, and asks for the lists over all of them.
func BenchmarkIndex(b *testing.B) {
	l := newLab(b)
	l.reports = true
	for i := range 20 {
		l.try(fmt.Sprintf("p%d.hcl", i), l.start.Add(time.Duration(i)*time.Hour), trials(500))
	}
	for b.Loop() {
		l.ui = New(l.ctx, l.ui.Source)
		began := time.Now()
		l.get("/agents")
		l.indexed()
		fmt.Println("indexed", time.Since(began))
		for _, path := range []string{"/agents", "/attempts", "/attempts?group=agent", "/competitions", "/runs", "/compare?of=agent:aide&of=agent:codex", "/find?q=codex", "/agent?name=aide"} {
			began := time.Now()
			status, body := l.get(path)
			fmt.Println(path, status, len(body), time.Since(began))
		}
	}
}
