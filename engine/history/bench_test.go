package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/event"
)

var sizes = []int{1_000, 10_000, 100_000}

func remembered(b *testing.B, n int) *Store {
	b.Helper()
	l := New(b.TempDir())
	s, err := l.Pipeline(pipeline)
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		a := fmt.Sprintf("step.agent-run.solve[\"leaf-classification/%d\"]", i)
		s.byAddr[a] = Memory{action(a), time.Second}
		s.buf = appendMemory(s.buf, a, s.byAddr[a])
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return l
}

func BenchmarkPipelineLoad(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("addresses=%d", n), func(b *testing.B) {
			l := remembered(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if s, err := l.Pipeline(pipeline); err != nil || len(s.byAddr) != n {
					b.Fatal(len(s.byAddr), err)
				}
			}
		})
	}
}

func BenchmarkPipelinePut(b *testing.B) {
	l := New(b.TempDir())
	s, err := l.Pipeline(pipeline)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := s.Put("step.exec.a", Memory{action("a"), time.Duration(i+1) * time.Millisecond}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEmit(b *testing.B) {
	started := event.StepStarted{At: at(1), Address: `step.exec.a["leaf-classification/0"]`, Kind: "exec", Try: 1}
	ran := event.StepFinished{At: at(2), Address: started.Address, Kind: "exec", Status: event.Ran, Action: action("a").String(), Outputs: map[string]string{"out": action("b").String()}}
	cached := ran
	cached.Status = event.Cached
	for _, c := range []struct {
		name    string
		secrets *secret.Set
		events  []event.Event
	}{
		{"step-run", nil, []event.Event{started, ran}},
		{"step-run-2-secrets", secret.New("sk-0123456789", "hf_0123456789"), []event.Event{started, ran}},
		{"step-cached", nil, []event.Event{cached}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, err := New(b.TempDir()).Begin(Opening{Info: Info{Pipeline: pipeline}, Secrets: c.secrets})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.ReportAllocs()
			for b.Loop() {
				for _, e := range c.events {
					r.Emit(e)
				}
			}
			if err := r.err; err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkBegin(b *testing.B) {
	l := New(b.TempDir())
	for b.Loop() {
		r, err := l.Begin(Opening{Info: Info{Pipeline: pipeline}, Sources: map[string][]byte{"demo.hcl": []byte("x")}})
		if err != nil {
			b.Fatal(err)
		}
		r.closeFiles()
	}
}

func BenchmarkSummary(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("steps=%d", n), func(b *testing.B) {
			l := New(b.TempDir())
			r, err := l.Begin(Opening{Info: Info{Pipeline: pipeline}})
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				r.Emit(event.StepFinished{At: at(2), Address: fmt.Sprintf("step.exec.a[\"%d\"]", i), Kind: "exec", Status: event.Cached, Action: action("a").String()})
			}
			r.Close()
			p, err := l.Find("latest")
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if s, err := p.Summary(); err != nil || len(s.Steps) != n {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	l := New(b.TempDir())
	for range 1000 {
		r, err := l.Begin(Opening{Info: Info{Pipeline: pipeline}})
		if err != nil {
			b.Fatal(err)
		}
		r.Emit(event.RunFinished{At: at(1), Status: event.Ran})
		r.closeFiles()
	}
	b.ResetTimer()
	for b.Loop() {
		if list, err := l.List(); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}
