package view

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// problemsShown is the number of attempts that the live view names as they end.
// causesShown is the number of causes in a summary, and causesSought the number of
// attempts whose logs are searched for them.
const (
	problemsShown = 5
	causesShown   = 10
	causesSought  = 1000
)

// The outcomes that are no problem.
const (
	finished = string(outcome.Finished)
	scored   = string(outcome.Scored)
)

// Outcomes counts the outcomes of agents' attempts and of the grading of their
// submissions, from the outputs of steps. None of them is a failure of a step.
type Outcomes struct {
	Attempts map[string]int `json:"attempts,omitempty"`
	Graded   map[string]int `json:"graded,omitempty"`
	// Checked are the rule checks of attempts, with and without warnings.
	Checked map[string]int `json:"checked,omitempty"`
	// Problems are the attempts that did not finish and the submissions without a finite
	// score that counts, in order of appearance. A submission that is missing or does not
	// count is not listed if its attempt is.
	Problems []Problem `json:"problems,omitempty"`
	// Models is the attempts' use of models; nil without any.
	Models *Used `json:"models,omitempty"`
	// listed are the keys of attempts that are problems.
	listed map[string]bool
}

// Problem is an attempt that did not finish, or a submission without a finite
// score.
type Problem struct {
	Address string `json:"address"`
	// Run is the run that has its log.
	Run     string `json:"run"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	// Tail are the most relevant lines of its output.
	Tail    []string `json:"-"`
	attempt bool
}

// Add counts a step with a result if its kind has outcomes.
func (o *Outcomes) Add(e event.StepFinished, run string, tail []string) {
	if judged := e.Outputs["judge_models"]; judged != "" && e.Kind == conditions.CheckKind {
		var models map[string]results.ModelUse
		_ = json.Unmarshal([]byte(judged), &models) // other forms are ignored
		o.use(models, e.Status == event.Cached)
	}
	if e.Kind == conditions.CheckKind && e.Status.Succeeded() {
		o.check(e.Outputs["warnings"])
	}
	if e.Outputs["outcome"] == "" || !e.Status.Succeeded() {
		return
	}
	if e.MadeIn != "" {
		run = e.MadeIn
	}
	p := Problem{Address: e.Address, Run: run}
	_, key, _ := strings.Cut(e.Address, "[")
	switch e.Kind {
	case conditions.AttemptKind:
		if !o.addAttempt(&p, e, tail) {
			return
		}
		if o.listed == nil {
			o.listed = map[string]bool{}
		}
		o.listed[key] = key != ""
	case conditions.GradeKind:
		a := results.Attempt{}
		a.GradedBy(e.Outputs, e.Conditions)
		p.Outcome, p.Reason = OneLine(string(a.Report.Outcome)), OneLine(a.Report.Reason)
		final := conditions.Final(e.Conditions)
		switch {
		case !final:
			p.Outcome = strings.ReplaceAll(a.NoScore(), " ", "_")
		case p.Outcome == scored && a.Report.Score == nil:
			p.Outcome = string(outcome.NotFinite)
		}
		count(&o.Graded, p.Outcome)
		if p.Outcome == scored || o.listed[key] && (!final || a.Report.Outcome == outcome.Missing) {
			return
		}
	default:
		return
	}
	o.Problems = append(o.Problems, p)
}

// OutcomesOf counts the outcomes of a run's steps, without the ends of their logs.
func OutcomesOf(sum *history.Summary) (o Outcomes) {
	for i := range sum.Steps {
		o.Add(sum.Steps[i].StepFinished, sum.ID, nil)
	}
	return o
}

// addAttempt counts an attempt, and reports whether it is a problem.
func (o *Outcomes) addAttempt(p *Problem, e event.StepFinished, tail []string) bool {
	var a results.Attempt
	a.Report.Conditions = e.Conditions
	models, _ := a.MadeBy(e.Outputs["outcome"], e.Outputs["stats"])
	p.Outcome = OneLine(string(a.Made.Outcome))
	count(&o.Attempts, p.Outcome)
	o.use(models, e.Status == event.Cached)
	if p.Outcome == finished {
		return false
	}
	p.attempt, p.Reason = true, OneLine(a.Reason())
	if t := e.Tries; t != nil && t.Why != "" {
		if p.Reason = t.Why; t.Provisional != "" {
			p.Reason += "; the next apply runs it again"
		}
	}
	p.explain(tail)
	return true
}

// check counts a rule check by its number of warnings.
func (o *Outcomes) check(warnings string) {
	var n float64
	switch {
	case json.Unmarshal([]byte(warnings), &n) != nil: // withheld, or none
	case n > 0:
		count(&o.Checked, "with_warnings")
	default:
		count(&o.Checked, "without_warnings")
	}
}

// Explain fills in the causes of the first problems, at most so many, from the ends
// of their logs.
func (o *Outcomes) Explain(most int, tail func(run, address string, lines int) []string) {
	for i := range o.Problems[:min(len(o.Problems), most, causesSought)] {
		if p := &o.Problems[i]; p.attempt && len(p.Tail) == 0 {
			p.explain(tail(p.Run, p.Address, TailLines))
		}
	}
}

// explain adds the last lines of the attempt's output.
func (p *Problem) explain(tail []string) {
	cause, shown := Excerpt(tail)
	if p.Tail = shown; cause != "" {
		p.Reason = strings.TrimPrefix(p.Reason+": "+cause, ": ")
	}
}

// Cause is what several problems have in common.
type Cause struct {
	// Problem is the first of them.
	Problem
	// All are the problems, in order of appearance.
	All []Problem
}

// Causes groups the problems by cause, in order of appearance.
func (o *Outcomes) Causes() []*Cause {
	groups := lists.Grouped(o.Problems, func(p Problem) string {
		key := p.Outcome + " " + alike(p.Reason)
		if status, _, _ := strings.Cut(p.Reason, ":"); strings.HasPrefix(status, "exit status ") {
			key += status // its number matters
		}
		return key
	})
	return lists.Of(groups, func(same []Problem) *Cause { return &Cause{same[0], same} })
}

// Why is the reason of all problems or, where they differ in numbers or paths, the first one
// as an example.
func (p *Cause) Why() string {
	if p.Reason != "" && slices.ContainsFunc(p.All, func(other Problem) bool { return other.Reason != p.Reason }) {
		return "such as " + p.Reason
	}
	return p.Reason
}

func count(counts *map[string]int, name string) {
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[name]++
}

// AgentFailed reports whether an attempt did not finish or its submission has
// no finite score.
func (o *Outcomes) AgentFailed() bool { return len(o.Problems) > 0 }

// Finished counts the finished attempts, "60 of 96"; "" without attempts.
func (o *Outcomes) Finished() string {
	if all := total(o.Attempts); all > 0 {
		return fmt.Sprintf("%d of %d", o.Attempts[finished], all)
	}
	return ""
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Unscored counts the attempts without a finite score, or, where nothing was graded, those
// that did not finish.
func (o *Outcomes) Unscored() (bad, all int) {
	good := o.Graded[scored]
	if len(o.Graded) == 0 {
		good = o.Attempts[finished]
	}
	all = max(total(o.Attempts), total(o.Graded))
	return all - good, all
}

// Lines returns the counts, one line each for attempts, submissions, rule checks and
// models.
func (o *Outcomes) Lines() []string {
	var lines Parts
	lines.If(len(o.Attempts) > 0, "Attempts: "+countsOf(o.Attempts))
	lines.If(len(o.Graded) > 0, "Submissions: "+countsOf(o.Graded))
	lines.If(len(o.Checked) > 0, "Rule checks: "+countsOf(o.Checked))
	if o.Models != nil {
		lines = append(lines, "Models: "+o.Models.String())
	}
	return lines
}

// short counts the attempts that did not finish and the submissions without a
// score, for a narrow place.
func (o *Outcomes) short() string {
	bad := map[string]int{}
	for _, p := range o.Problems {
		bad[p.Outcome]++
	}
	return countsOf(bad)
}

func countsOf(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), outcome.Compare)
	return strings.Join(lists.Of(names, func(name string) string { return fmt.Sprintf("%d %s", counts[name], outcomeText(name)) }), ", ")
}

func outcomeText(name string) string { return OneLine(outcome.Words(name)) }

// line returns the problem on one line: outcome, address and reason.
func (p Problem) line(style Style) string {
	return style.Warn(Capital(outcomeText(p.Outcome))+":") + " " + OneLine(p.Address) + After(": ", OneLine(p.Reason))
}

// Capital writes a text with a capital letter first.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// What returns the outcome and the reason.
func (p Problem) What() string {
	return outcomeText(p.Outcome) + After(": ", OneLine(p.Reason))
}

// Command returns the command that shows its log.
func (p Problem) Command() string {
	return "mleflow logs " + OneLine(p.Run) + " '" + OneLine(p.Address) + "'"
}

// line returns the cause, its count, and its first address.
func (p *Cause) line(style Style) string {
	if len(p.All) == 1 {
		return p.Problem.line(style)
	}
	return style.Warn(Capital(outcomeText(p.Outcome))+":") + fmt.Sprintf(" %d ×", len(p.All)) + After(" ", OneLine(p.Why())) + ", first in " + OneLine(p.Address)
}

// writeOutcomes writes the causes of problems, each with its lines of the log and the
// command that shows the whole log, and the counts.
func writeOutcomes(w io.Writer, o *Outcomes, run string, style Style) {
	causes := o.Causes()
	for i, p := range causes {
		if i == causesShown {
			fmt.Fprintf(w, "… and %s more (mleflow show %s --json lists all)\n", Plural(len(causes)-i, "reason"), run)
			break
		}
		fmt.Fprintln(w, p.line(style))
		for _, line := range p.Tail {
			fmt.Fprintf(w, "    %s\n", style.Dim(line))
		}
		fmt.Fprintf(w, "    %s\n", style.Dim("log: "+p.Command()))
	}
	for _, line := range o.Lines() {
		fmt.Fprintln(w, line)
	}
}

// Used is the attempts' use of models. Costs are in billionths of a US dollar.
type Used struct {
	Requests int64 `json:"requests"`
	Tokens   int64 `json:"tokens"`
	Cost     int64 `json:"cost_nanodollars"`
	// ListCost is what the same use costs by mleflow's price list, where pipelines have
	// other prices. EstimatedCost is the part of Cost that no reported usage settles.
	ListCost      int64 `json:"list_cost_nanodollars,omitempty"`
	EstimatedCost int64 `json:"estimated_cost_nanodollars,omitempty"`
	// EarlierCost is the part of Cost that belongs to attempts of earlier runs.
	EarlierCost int64 `json:"earlier_cost_nanodollars,omitempty"`
}

// use adds an attempt's use.
func (o *Outcomes) use(models map[string]results.ModelUse, cached bool) {
	if len(models) == 0 {
		return
	}
	if o.Models == nil {
		o.Models = &Used{}
	}
	for _, m := range models {
		cost, err := gateway.ParseDollars(m.CostUSD)
		if err != nil {
			continue // no step's own output has it
		}
		o.Models.Requests += m.Requests
		o.Models.Tokens += m.InputTokens + m.OutputTokens
		o.Models.Cost += int64(cost)
		o.Models.ListCost += nanodollars(m.ListUSD, cost)
		o.Models.EstimatedCost += nanodollars(m.EstimatedUSD, 0)
		if cached {
			o.Models.EarlierCost += int64(cost)
		}
	}
}

// nanodollars reads an amount that may be missing.
func nanodollars(text *string, otherwise gateway.Dollars) int64 {
	if text == nil {
		return int64(otherwise)
	}
	d, _ := gateway.ParseDollars(*text) // no step's own output has another
	return int64(d)
}

// String returns the use as part of a sentence.
func (u Used) String() string {
	text := fmt.Sprintf("%s, %s, %s", Plural(int(u.Requests), "request"), Plural(int(u.Tokens), "token"), Dollars(u.Cost)) +
		When(u.ListCost != u.Cost, " by own prices, "+Dollars(u.ListCost)+" by mleflow's list") + When(u.EstimatedCost > 0, ", "+Dollars(u.EstimatedCost)+" of it estimated")
	switch {
	case u.EarlierCost > 0 && u.EarlierCost == u.Cost:
		text += " in earlier runs"
	case u.EarlierCost > 0:
		text += fmt.Sprintf(", %s of it in earlier runs", Dollars(u.EarlierCost))
	}
	return text
}
