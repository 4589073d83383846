package agentrun

import (
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// phases reports the attempt's current phase.
type phases struct {
	tell func(step.Phase)
	gpus *gpus

	mu  sync.Mutex
	now step.Phase
}

// spent reports the use of the models so far.
func (p *phases) spent(s step.Spent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.Spent != s {
		p.now.Spent = s
		p.tell(p.now)
	}
}

// transcript sets the folder of the transcript, from the next phase on.
func (p *phases) transcript(folder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now.Transcript = folder
}

// placed begins the phase of placing data and returns a function that reports the
// progress.
func (p *phases) placed(data cache.Ref) func(files, bytes int64) {
	p.enter(step.Phase{Name: step.Placing, TotalFiles: data.Files, TotalBytes: data.Size})
	return func(files, bytes int64) {
		p.note(step.Placing, func(now *step.Phase) { now.Files, now.Bytes = files, bytes })
	}
}

// starting begins the phase of starting the attempt. It reports the progress with the
// image until stop is called.
func (p *phases) starting(image *progress.Work) (stop func()) {
	p.enter(step.Phase{Name: step.Starting})
	return progress.Follow(image, func(done progress.State) {
		if done.Bytes > done.TotalBytes {
			done.TotalBytes = 0 // bytes that are fetched again count again
		}
		p.note(step.Starting, func(now *step.Phase) { now.What, now.Bytes, now.TotalBytes = done.What, done.Bytes, done.TotalBytes })
	})
}

// running begins the phase in which the agent runs, started at the given time.
func (p *phases) running(since time.Time, limit time.Duration) {
	p.enter(step.Phase{Name: step.Running, Started: since.UTC(), LimitMillis: limit.Milliseconds(), Submission: step.SubmissionNone})
}

// enter begins a phase.
func (p *phases) enter(now step.Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now.Spent, now.Kept = p.now.Spent, p.now.Kept
	p.now = now
	p.tell(now)
}

func (p *phases) use(u executor.Use) {
	if p.gpus != nil {
		p.gpus.measure(func(percent, bytes int64) {
			p.note(step.Running, func(now *step.Phase) { now.GPUPercent, now.GPUMemoryBytes = percent, bytes })
		})
	}
	p.note(step.Running, func(now *step.Phase) { now.MemoryBytes, now.CPUMillis = u.MemoryBytes, u.CPU.Milliseconds() })
}

func (p *phases) submission(state step.Submission, reason string) {
	p.note(step.Running, func(now *step.Phase) { now.Submission, now.Reason = state, reason })
}

// taken reports a harvested file.
func (p *phases) taken(bytes int64) {
	p.note(step.Harvesting, func(now *step.Phase) { now.Files++; now.Bytes += bytes })
}

// note changes the report of a phase, unless the phase is over.
func (p *phases) note(name step.PhaseName, change func(*step.Phase)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.Name == name {
		change(&p.now)
		p.tell(p.now)
	}
}
