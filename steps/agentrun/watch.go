package agentrun

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
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
	// measuredAt is when the use of the agent was last measured.
	measuredAt time.Time
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
	if now.Name == step.Harvesting { // what the agent has used in all
		now.CPUMillis, now.GPUPercent, now.GPUMemoryBytes = p.now.CPUMillis, p.now.GPUPercent, p.now.GPUMemoryBytes
	}
	p.now = now
	p.tell(now)
}

// use reports what the agent uses, and the time in which it had a request to a model under
// way.
func (p *phases) use(u executor.Use, model int64) {
	if p.gpus != nil {
		p.gpus.measure(func(percent, bytes int64) {
			p.note(step.Running, func(now *step.Phase) { now.GPUPercent, now.GPUMemoryBytes = percent, bytes })
		})
	}
	p.note(step.Running, func(now *step.Phase) {
		p.measuredAt = time.Now()
		now.MemoryBytes, now.CPUMillis, now.ModelMillis = u.MemoryBytes, u.CPU.Milliseconds(), max(now.ModelMillis, model)
	})
}

// measured is the last measurement.
func (p *phases) measured() measured {
	p.mu.Lock()
	defer p.mu.Unlock()
	return measured{p.measuredAt, time.Duration(p.now.CPUMillis) * time.Millisecond, p.now.GPUPercent}
}

func (p *phases) submission(state step.Submission, reason string) {
	p.note(step.Running, func(now *step.Phase) { now.Submission, now.Reason = state, reason })
}

// taken reports a harvested file.
func (p *phases) taken(bytes int64) {
	p.note(step.Harvesting, func(now *step.Phase) { now.Files++; now.Bytes += bytes })
}

// in reports whether the attempt is in a phase.
func (p *phases) in(name step.PhaseName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.Name == name
}

// await returns when the attempt is in a phase, or ctx ends.
func (p *phases) await(ctx context.Context, name step.PhaseName) {
	for !p.in(name) && progress.Sleep(ctx, 100*time.Millisecond) == nil {
	}
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

const (
	// gpuEvery is the interval at which the driver is asked what GPUs do, and gpuPatience
	// how long it may take to answer.
	gpuEvery    = 15 * time.Second
	gpuPatience = 5 * time.Second
)

// gpus measures the GPUs that an attempt leases. Its zero value measures nothing.
type gpus struct {
	// program is nvidia-smi, "" without one; ids are the driver's names of the GPUs.
	program string
	ids     []string
	asking  atomic.Bool
	asked   time.Time
}

// gpusOf returns what measures the devices among the given ones that NVIDIA's driver knows.
// Slices of a GPU are not among them: the driver does not say how busy they are.
func gpusOf(devices []string) *gpus {
	g := &gpus{}
	for _, d := range devices {
		if id, ok := strings.CutPrefix(d, "nvidia.com/gpu="); ok && !strings.Contains(id, ":") {
			g.ids = append(g.ids, id)
		}
	}
	if len(g.ids) > 0 {
		g.program, _ = checkout.Program("nvidia-smi")
	}
	return g
}

// measure tells, now and then, the mean use of the GPUs in percent and the memory that is
// in use on all of them. It does not wait for the driver.
func (g *gpus) measure(tell func(percent, bytes int64)) {
	if g.program == "" || time.Since(g.asked) < gpuEvery || !g.asking.CompareAndSwap(false, true) {
		return
	}
	g.asked = time.Now()
	go func() {
		defer g.asking.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), gpuPatience)
		defer cancel()
		out, err := exec.CommandContext(ctx, g.program, "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", "--id="+strings.Join(g.ids, ",")).Output()
		if percent, bytes, ok := gpuUse(string(out)); err == nil && ok {
			tell(percent, bytes)
		}
	}()
}

// gpuUse reads lines such as "37, 1024": percent and MiB of a GPU.
func gpuUse(text string) (percent, bytes int64, ok bool) {
	n := int64(0)
	for line := range strings.Lines(text) {
		busy, held, _ := strings.Cut(strings.TrimSpace(line), ",")
		p, err := strconv.ParseInt(strings.TrimSpace(busy), 10, 64)
		m, err2 := strconv.ParseInt(strings.TrimSpace(held), 10, 64)
		if err != nil || err2 != nil || p < 0 || p > 100 || m < 0 || m > 1<<30 {
			return 0, 0, false
		}
		n, percent, bytes = n+1, percent+p, bytes+m<<20
	}
	if n == 0 {
		return 0, 0, false
	}
	return percent / n, bytes, true
}

// The submission is examined repeatedly while the agent runs. The pause between two
// looks is at least sightPause and at least sightRest times as long as the last one
// took, so that the agent keeps its processors. A submission larger than sightBytes is
// not checked.
const (
	sightPause = 2 * time.Second
	sightRest  = 50
	sightBytes = 256 << 20
)

// sight watches the submission from outside while the agent runs. It only informs
// people: the result does not depend on it, and the agent cannot notice it.
type sight struct {
	*gates
	// last is the file at the last look. checked is the file with the known verdict.
	last, checked fs.FileInfo
	state         step.Submission
	reason        string
}

// watchSubmission examines the submission until ctx ends.
func (g *gates) watchSubmission(ctx context.Context) {
	w := &sight{gates: g}
	paced(ctx, sightPause, sightRest, func() (goesOn bool) {
		state, reason := w.look(ctx)
		if ctx.Err() == nil {
			g.phases.submission(state, reason)
		}
		return ctx.Err() == nil
	})
}

// look returns the submission's state. The submission is checked once two looks have
// found the same file.
func (w *sight) look(ctx context.Context) (step.Submission, string) {
	f, info, err := w.dirs.openSubmission()
	if f == nil || err != nil {
		return step.SubmissionNone, ""
	}
	defer f.Close()
	settled := w.last != nil && same(w.last, info)
	w.last = info
	switch {
	case w.checked != nil && same(w.checked, info):
		return w.state, w.reason
	case !settled || info.Size() > min(sightBytes, w.submissionBytes()):
		return step.SubmissionUnchecked, ""
	}
	return w.verdict(ctx, f, info)
}

// verdict checks a copy of the submission that the agent cannot change.
func (w *sight) verdict(ctx context.Context, f *os.File, before fs.FileInfo) (step.Submission, string) {
	dir, err := os.MkdirTemp(w.dirs.host, "sight-")
	if err != nil {
		return step.SubmissionUnchecked, ""
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "submission.csv")
	if err := copyWhole(ctx, file, f, before); err != nil {
		return step.SubmissionUnchecked, ""
	}
	found, err := w.check(ctx, file)
	if err != nil {
		return step.SubmissionUnchecked, ""
	}
	w.checked, w.state, w.reason = before, step.SubmissionValid, ""
	if found.Class != "" {
		w.state, w.reason = step.SubmissionInvalid, w.mask.Mask(found.Reason)
	}
	return w.state, w.reason
}

// copyWhole copies a file and fails if it changes meanwhile.
func copyWhole(ctx context.Context, to string, f *os.File, before fs.FileInfo) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := cache.Copy(ctx, out, io.LimitReader(f, before.Size()+1)); err != nil {
		return err
	}
	if after, err := f.Stat(); err != nil || !same(before, after) {
		return errors.Join(err, errChanging)
	}
	return out.Close()
}
