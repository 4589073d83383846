package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TailLines is the number of a step's last lines that are kept to explain a failure.
// failureLines is the number of them that are shown for a step that is no agent.
const TailLines, failureLines = 60, 5

// State is the state of a run after a sequence of events, with what the live view and the
// summary show of it. It is not safe for concurrent use.
type State struct {
	event.Run
	Failures []Failure
	// Attempts are the agents' attempts with a result, run or cached.
	Attempts conditions.Tally
	// Outcomes are the outcomes of those attempts and of their grading.
	Outcomes Outcomes
	// Grades are the present scores; nil if the view shows none.
	Grades *Grades

	// order are the step blocks in dependency order, blocks the same by name.
	order   []*blockCounts
	blocks  map[string]*blockCounts
	running map[string]*running
	tails   map[string][]string
	// publishRate is the speed at which results are written to a path.
	publishRate rate
	// paid is the cost of models by the attempt's address.
	paid map[string]int64
}

// running is a step in progress.
type running struct {
	*event.Execution
	// Rate is the speed at which its progress grows, and Line the last line of its output.
	Rate rate
	Line string
}

// Failure is a step that failed permanently, with the last lines of its output.
type Failure struct {
	event.StepFinished
	Tail []string
}

// NewState returns the state before any event.
func NewState() *State {
	return &State{blocks: map[string]*blockCounts{}, running: map[string]*running{}, tails: map[string][]string{}, paid: map[string]int64{}}
}

// Apply applies one event, whose strings it makes safe to show.
func (s *State) Apply(e event.Event) { s.apply(cleaned(e)) }

// apply is Apply for a cleaned event.
func (s *State) apply(e event.Event) {
	s.Run.Apply(e)
	switch e := e.(type) {
	case event.RunStarted:
		for _, b := range e.Blocks {
			s.block(b.Block).Steps = b.Steps
		}
	case event.StepStarted:
		if s.running[e.Address] == nil {
			s.block(BlockOf(e.Address)).Running++
		}
		s.running[e.Address] = &running{Execution: s.Run.Running[e.Address]}
	case event.StepProgress:
		if r := s.running[e.Address]; r != nil && r.Progress == e {
			r.Rate.add(e)
		}
	case event.StepJob:
		if r := s.running[e.Address]; r != nil && r.Progress.Time.IsZero() && r.Phase.Name == "" {
			r.Rate = rate{}
		}
	case event.StepPhase:
		if r := s.running[e.Address]; r != nil && r.Phase == e.Phase && e.TotalBytes > 0 {
			r.Rate.add(event.StepProgress{At: e.At, Progress: step.Progress{What: string(e.Name) + e.What, Done: e.Bytes, Total: e.TotalBytes, Unit: "bytes"}})
		}
		if e.Cost > 0 {
			s.paid[e.Address] = e.Cost
		}
	case event.StepLog:
		s.log(e)
	case event.StepFinished:
		s.finish(e)
	case event.Publishing:
		s.publishRate.add(event.StepProgress{At: e.At, Progress: e.Progress})
	case event.Published:
		s.publishRate = rate{}
	}
}

// Paid returns the cost of models of the run's attempts, in billionths of a US dollar.
func (s *State) Paid() (sum int64) {
	for _, cost := range s.paid {
		sum += cost
	}
	return sum
}

func (s *State) log(e event.StepLog) {
	tail := append(s.tails[e.Address], e.Line[:min(len(e.Line), lineBytes)])
	if len(tail) > TailLines {
		tail = slices.Delete(tail, 0, len(tail)-TailLines)
	}
	s.tails[e.Address] = tail
	if r := s.running[e.Address]; r != nil && e.Line != "" && !strings.HasPrefix(e.Line, step.NotePrefix) {
		r.Line = e.Line
	}
}

func (s *State) finish(e event.StepFinished) {
	b := s.block(BlockOf(e.Address))
	b.Counts[e.Status]++
	if s.running[e.Address] != nil {
		b.Running--
	}
	if e.Status.Succeeded() {
		s.Attempts.Add(e.Kind, e.Conditions)
		s.Grades.add(e)
		before := len(s.Outcomes.Problems)
		s.Outcomes.Add(e, s.Start.Run, s.tails[e.Address])
		if len(s.Outcomes.Problems) > before {
			b.Bad[s.Outcomes.Problems[before].Outcome]++
		}
	}
	if e.Status == event.Failed {
		tail := s.tails[e.Address]
		s.Failures = append(s.Failures, Failure{StepFinished: e, Tail: tail[max(0, len(tail)-failureLines):]})
	}
	delete(s.running, e.Address)
	delete(s.tails, e.Address)
}

// refused reports whether the preflight gave the reason why a step is not started.
func (s *State) refused(address string) bool {
	return slices.ContainsFunc(s.Preflights, func(p event.Preflight) bool {
		return p.Verdict == event.PreflightFailed && p.Address == address
	})
}

// InProgress lists the steps in progress, the longest first.
func (s *State) InProgress() []*running {
	return slices.SortedFunc(maps.Values(s.running), func(a, b *running) int {
		return cmp.Or(a.Time.Compare(b.Time), board.CompareNames(a.Address, b.Address))
	})
}

// Grades reads the reports of grade steps as they end and draws a leaderboard from them.
// A view without it shows no scores.
type Grades struct {
	Read func(event.StepFinished) (grading.Graded, bool)
	// Fetch reads a report that Read did not find and delivers it later, from any
	// goroutine. It may be nil.
	Fetch func(e event.StepFinished, deliver func(grading.Graded))
	// Draw returns a table, header first, of at most the given width. Without it, only
	// the reports of steps that ran are read.
	Draw func(reports []grading.Graded, width int) string

	mu      sync.Mutex // of reports
	reports []grading.Graded
	// last is the step of the last report that Read found; latest is the report.
	last   string
	latest grading.Graded
	// drawn is the table for a number of reports and a width.
	drawn        []string
	count, width int
}

func (g *Grades) add(e event.StepFinished) {
	if g == nil || e.Kind != conditions.GradeKind || g.Draw == nil && e.Status != event.Ran {
		return
	}
	if report, ok := g.Read(e); ok {
		g.deliver(report)
		g.last, g.latest = e.Address, report
	} else if g.Fetch != nil && e.Outputs["report"] != "" {
		g.Fetch(e, g.deliver)
	}
}

func (g *Grades) deliver(report grading.Graded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reports = append(g.reports, report)
}

// lines returns the leaderboard on at most so many lines; nil if they are too few.
func (g *Grades) lines(all, width, most int, style Style) []string {
	const least = 3 // title, header, one agent
	if g == nil || most < least {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	reports := g.reports
	if len(reports) == 0 {
		return nil
	}
	if g.count != len(reports) || g.width != width {
		g.count, g.width, g.drawn = len(reports), width, strings.Split(g.Draw(reports, width), "\n")
	}
	sets := lists.Of(reports, func(r grading.Graded) []string { return r.Conditions })
	lines := []string{style.Bold("Leaderboard"), style.Dim(g.drawn[0])}
	lines[0] += style.Dim(", " + PartialText(len(reports), all) + ", isolation " + conditions.Shown(sets...))
	rows := g.drawn[1:]
	if len(rows) <= most-2 {
		return append(lines, rows...)
	}
	lines = append(lines, rows[:most-3]...)
	return append(lines, style.Dim(fmt.Sprintf("… and %d more", len(rows)-(most-3))))
}

// PartialText describes how complete a leaderboard is: "partial: 12 of 66 attempts
// graded".
func PartialText(done, all int) string {
	return When(done < all, "partial: ") + fmt.Sprintf("%d of %d attempts graded", done, max(done, all))
}

// ToGrade is the number of grade steps of a run.
func ToGrade(start event.RunStarted) (n int) {
	for _, b := range start.Blocks {
		if strings.HasPrefix(b.Block, "step."+conditions.GradeKind+".") {
			n += b.Steps
		}
	}
	return n
}

// gradeText names the attempt of a grade step and its score.
func (g *Grades) gradeText(e event.StepFinished) string {
	if g == nil || e.Address != g.last {
		return ""
	}
	r := g.latest
	agent, seed, medal := OneLine(r.Labels["agent"]), OneLine(r.Labels["seed"]), results.Medal(r.Report)
	var parts Parts
	parts.If(agent != "", agent)
	parts = append(parts, r.CompetitionID)
	parts.If(seed != "", "seed "+seed)
	if (&results.Attempt{Report: r.Report}).NoScore() == "" && r.Score != nil {
		parts = append(parts, Score(float64(*r.Score)))
	}
	parts.If(medal != "", medal)
	return ": " + parts.Join(", ")
}
