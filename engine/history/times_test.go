package history

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

const solve = "step.agent-run.a"

// story builds the summary of an attempt from events that it tells in order.
type story struct {
	b     *Summariser
	start time.Time
}

func newStory() *story {
	return &story{&Summariser{sum: &Summary{}, index: map[string]int{}}, time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
}

func (s *story) at(seconds float64) event.At {
	return event.At{Time: s.start.Add(time.Duration(seconds * float64(time.Second)))}
}

func (s *story) phase(seconds float64, p step.Phase) {
	s.b.Add(event.StepPhase{At: s.at(seconds), Address: solve, Phase: p})
}

// running is a report of an agent that started at begun.
func (s *story) running(begun, seconds float64, cpu, model, gpu int64) {
	p := step.Phase{Name: step.Running, Started: s.at(begun).Time, CPUMillis: cpu * 1000, GPUPercent: gpu}
	p.ModelMillis, p.Requests = model*1000, min(model, 1)
	s.phase(seconds, p)
}

func (s *story) is(t *testing.T, until float64, want map[Part]float64) {
	t.Helper()
	step := s.b.Step(solve)
	shares, sum := step.Times.Shares(s.at(until).Time), 0.0
	for _, p := range Parts() {
		got := shares[p].Time.Seconds()
		if d := got - want[p]; d > 1e-6 || d < -1e-6 {
			t.Errorf("%v: %v, want %v", p, got, want[p])
		}
		sum += got
	}
	if all := s.at(until).Time.Sub(step.First).Seconds(); sum-all > 1e-6 || all-sum > 1e-6 {
		t.Errorf("the parts add up to %v of %v", sum, all)
	}
}

// TestSleeper counts the time of an agent that uses no processor as idle, once it was measured.
func TestSleeper(t *testing.T) {
	s := newStory()
	s.b.Add(event.StepStarted{At: s.at(0), Address: solve, Try: 1})
	for _, at := range []float64{1, 11, 21} {
		p := step.Phase{Name: step.Running, Started: s.at(1).Time, MemoryBytes: 225280}
		if at == 1 {
			p.MemoryBytes = 0
		}
		s.phase(at, p)
	}
	s.phase(31, step.Phase{Name: step.Harvesting})
	s.is(t, 31, map[Part]float64{Placing: 1, Idle: 30})
}

// TestTimes counts what an attempt does, second by second.
func TestTimes(t *testing.T) {
	s := newStory()
	s.b.Add(event.StepStarted{At: s.at(0), Address: solve, Try: 1, Devices: []string{"gpu0", "gpu1"}})
	s.phase(1, step.Phase{Name: step.Placing})
	s.phase(5, step.Phase{Name: step.Starting})
	s.running(10, 10, 0, 0, 0)
	s.running(10, 40, 10, 15, 10)   // 15 model, 3 GPU, 10 processor, 2 idle
	s.running(10, 70, 1000, 15, 50) // 15 GPU, 15 processor
	p := step.Phase{Name: step.Harvesting, CPUMillis: 1_001_000, GPUPercent: 0, GPUMemoryBytes: 1}
	p.ModelMillis, p.Requests = 19_000, 2
	s.phase(80, p) // 4 model, 1 processor, 5 idle
	s.b.Add(event.StepFinished{At: s.at(90), Address: solve, Status: event.Ran})
	s.is(t, 90, map[Part]float64{Placing: 20, Model: 19, GPU: 18, Processor: 26, Idle: 7})
	if gpu := s.b.Step(solve).Times.Shares(s.at(90).Time)[GPU].GPUTime; gpu != 36*time.Second {
		t.Errorf("GPU time %v", gpu)
	}
}

// TestTimesOfDeadTries loses what no checkpoint kept.
func TestTimesOfDeadTries(t *testing.T) {
	s := newStory()
	s.b.Add(event.StepStarted{At: s.at(0), Address: solve, Try: 1})
	s.running(10, 10, 0, 0, 0)
	s.running(10, 110, 50, 0, 0) // 50 processor, 50 idle
	s.b.Add(event.StepRetry{At: s.at(110), Address: solve, Try: 1})
	s.is(t, 110, map[Part]float64{Lost: 110})
	s.b.Add(event.StepStarted{At: s.at(130), Address: solve, Try: 2}) // waited for 20
	s.running(130-60, 130, 0, 0, 0)                                   // it goes on after 60 of its 100 seconds
	s.running(130-60, 150, 20, 0, 0)
	s.is(t, 160, map[Part]float64{Lost: 50, Waiting: 20, Processor: 50, Idle: 30, Unmeasured: 10})
	s.b.Add(event.StepFinished{At: s.at(170), Address: solve, Status: event.Failed})
	s.is(t, 170, map[Part]float64{Lost: 90, Waiting: 20, Processor: 30, Idle: 30})
}

// TestTimesOnCluster waits for machines and loses one.
func TestTimesOnCluster(t *testing.T) {
	s := newStory()
	job := func(seconds float64, state, node string) {
		s.b.Add(event.StepJob{At: s.at(seconds), Address: solve, On: "lab", State: state, Node: node, GPUs: 1})
	}
	s.b.Add(event.StepStarted{At: s.at(0), Address: solve, Try: 1, On: "lab"})
	job(1, event.JobPending, "")
	job(30, event.JobRunning, "n1")
	s.phase(35, step.Phase{Name: step.Placing})
	s.running(40, 40, 0, 0, 0)
	job(100, event.JobEnded, "n1")
	job(101, event.JobPending, "")
	job(140, event.JobRunning, "n2")
	s.running(150, 150, 0, 0, 0)
	s.running(150, 200, 50, 0, 1)
	s.is(t, 200, map[Part]float64{Waiting: 70, Lost: 70, Placing: 10, Processor: 49.5, GPU: .5})
}

// TestNotMeasured: what older journals do not say is not idle, and not zero.
func TestNotMeasured(t *testing.T) {
	s := newStory()
	s.b.Add(event.StepStarted{At: s.at(0), Address: solve, Try: 1, Devices: []string{"gpu0"}})
	s.running(0, 0, 0, 0, 0)
	p := step.Phase{Name: step.Running, Started: s.start, CPUMillis: 10_000}
	p.Requests = 3
	s.phase(30, p)
	s.is(t, 30, map[Part]float64{Processor: 10, Unmeasured: 20})
	if m := s.b.Step(solve).Times.Measured; m[Model] || m[GPU] || m[Idle] || !m[Processor] {
		t.Errorf("%+v", m)
	}
}

// TestTimesAddUp tells attempts at random, with clocks that jump: the parts are never
// negative and add up.
func TestTimesAddUp(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, now, last := newStory(), 0.0, 0.0
		s.b.Add(event.StepStarted{At: s.at(0), Address: solve, Try: 1})
		for range 40 {
			if now += r.Float64() * 100; r.IntN(10) == 0 {
				now -= 150
			}
			address, at := solve, s.at(now)
			switch r.IntN(10) {
			case 0:
				s.b.Add(event.StepRetry{At: at, Address: address})
			case 1:
				s.b.Add(event.StepStarted{At: at, Address: address, Try: 2, Devices: make([]string, r.IntN(3))})
			case 2:
				states := []string{event.JobPending, event.JobRunning, event.JobEnded, event.JobLeft}
				s.b.Add(event.StepJob{At: at, Address: address, State: states[r.IntN(4)], GPUs: r.IntN(3)})
			case 3:
				s.b.Add(event.StepWaiting{At: at, Address: address})
			case 4:
				names := []step.PhaseName{step.Placing, step.Starting, step.Harvesting}
				s.phase(now, step.Phase{Name: names[r.IntN(3)]})
			default:
				s.running(now-r.Float64()*300, now, r.Int64N(1000), r.Int64N(1000), r.Int64N(200))
			}
			last = max(last, now)
		}
		one := s.b.Step(solve)
		if one.Times == nil {
			continue
		}
		var sum time.Duration
		for p, share := range one.Times.Shares(s.at(last).Time) {
			if sum += share.Time; share.Time < 0 || share.GPUTime < 0 {
				t.Fatalf("seed %d: %v is %v", seed, Part(p), share)
			}
		}
		if all := s.at(last).Time.Sub(one.First); sum != all {
			t.Fatalf("seed %d: the parts add up to %v of %v", seed, sum, all)
		}
	}
}
