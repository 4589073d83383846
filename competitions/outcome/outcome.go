// Package outcome is the closed list of the ways in which an attempt of an agent and its
// submission end: their names in outputs and files, their words for people, which of
// them are final, and which words --retry takes.
//
// A step that fails has no outcome: the agent never had its say. What stands between an
// attempt and its outcome, and the one word for both outcomes together, is in package
// results.
package outcome

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// End is how the agent of an attempt ended, the output outcome of a step agent-run. The
// submission, if any, is harvested and graded with every end.
type End string

// The ends.
const (
	// Finished is that of an agent that exited with status 0 and left a submission.
	Finished       End = "finished"
	NoSubmission   End = "no_submission"
	TimedOut       End = "timed_out"
	StoppedEarly   End = "stopped_early"
	OutOfMemory    End = "out_of_memory"
	OutOfDisk      End = "out_of_disk"
	OutOfBudget    End = "out_of_budget"
	DataChanged    End = "data_changed"
	AgentFailed    End = "agent_failed"
	ProviderFailed End = "provider_failed"
	BudgetTooSmall End = "budget_too_small"
	// MachineFailed is of imported runs only: a step whose machine fails has no result.
	MachineFailed End = "machine_failed"
)

// about says of an end what people read.
type about struct {
	End
	// Doc is what it means, Reason the reason to show where nothing tells more, and Advice
	// what helps.
	Doc, Reason, Advice string
	// Environment means that the agent did not cause it, so that the result is not final.
	Environment bool
	// Failed means that --retry failed takes it, Word that --retry knows its name.
	Failed, Word bool
}

// ends are all ends, in the order in which they are counted.
var ends = []about{
	{End: Finished, Doc: "The agent exited with status 0 and left a submission."},
	{End: NoSubmission, Word: true, Doc: "The agent exited with status 0 and left no submission.", Reason: "the agent ended with exit status 0 and left no submission"},
	{End: TimedOut, Word: true, Doc: "The agent was stopped at its time limit.", Reason: "stopped at its time limit"},
	{End: StoppedEarly, Word: true, Doc: "A person, or on_stall, stopped the agent before its time limit.", Reason: "by hand"},
	{End: OutOfMemory, Failed: true, Word: true, Doc: "The agent was killed at its memory limit.", Reason: "killed at its memory limit", Advice: "raise memory in the step's resources, or read the data in parts"},
	{End: OutOfDisk, Failed: true, Word: true, Doc: "The agent exceeded its disk limit where the runtime cannot enforce it, or filled the disk that agents share.", Reason: "stored more than its disk limit, or filled the disk", Advice: "raise disk_limit of the agent-run step"},
	{End: OutOfBudget, Failed: true, Word: true, Doc: "The agent failed or left no submission after a request to a model had been refused because a budget was exhausted.", Reason: "a budget of its models was exhausted", Advice: "raise budget in the model block"},
	{End: ProviderFailed, Failed: true, Word: true, Environment: true, Doc: "A model's provider answered no request, or failed the last ones before the agent failed.", Reason: "the provider of its models failed", Advice: "try the model's key and address: mleflow doctor"},
	{End: BudgetTooSmall, Failed: true, Word: true, Environment: true, Doc: "A model's budget allowed no request at all.", Reason: "a budget of its models allowed no request", Advice: "raise budget in the model block"},
	{End: DataChanged, Failed: true, Word: true, Doc: "The agent changed its read-only data where the runtime cannot prevent it. This takes precedence over all other ends.", Reason: "the agent changed its data, which are read-only", Advice: "let it copy data to its working folder first"},
	{End: AgentFailed, Failed: true, Doc: "The agent exited with another status or was killed by a signal."},
	{End: MachineFailed, Failed: true, Environment: true, Doc: "Of an imported run: the machine around the agent failed.", Reason: "the machine around the agent failed"},
}

// word is the end as --retry writes it.
func (a about) word() string { return strings.ReplaceAll(string(a.End), "_", "-") }

func (e End) about() about {
	if i := slices.IndexFunc(ends, func(a about) bool { return a.End == e }); i >= 0 {
		return ends[i]
	}
	return about{End: e}
}

// Ends returns all ends, in the order in which they are counted.
func Ends() []End {
	return lists.Of(ends, func(a about) End { return a.End })
}

// Known reports whether an end is one of the list.
func (e End) Known() bool { return e.about().Doc != "" }

// Text is the end in words, such as "timed out".
func (e End) Text() string { return strings.ReplaceAll(string(e), "_", " ") }

// Doc is what the end means, as a sentence.
func (e End) Doc() string { return e.about().Doc }

// Reason explains the end where nothing else does; "" if the end says it all.
func (e End) Reason() string { return e.about().Reason }

// Advice says what helps; "" if that depends.
func (e End) Advice() string { return e.about().Advice }

// Environmental reports whether something else than the agent caused the end. Such a
// result is not final: the next apply repeats it, unless the ones before it ended so,
// too; see cache.MaxSpoilt.
func (e End) Environmental() bool { return e.about().Environment }

// Failed reports whether the agent did not end as its maker meant it to. An agent that
// works until its time limit did not fail.
func (e End) Failed() bool { return e.about().Failed }

// Submission is how a submission was graded, the output outcome of a step grade.
type Submission string

// The outcomes of grading.
const (
	Scored  Submission = "scored"  // it has a score, finite or not
	Invalid Submission = "invalid" // the file is there, but has no score
	Missing Submission = "missing" // there is no such file, or it is not a .csv
	// NotFinite is of counts only: the score is not a finite number.
	NotFinite Submission = "scored, not finite"
)

// Words returns an end or an outcome of grading in words.
func Words(name string) string { return Submission(End(name).Text()).Text() }

// Compare orders ends and outcomes of grading as counts have them: submissions, then ends,
// then other names.
func Compare(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b)) }

func place(name string) uint {
	if i := slices.Index([]Submission{Scored, NotFinite, Invalid, Missing}, Submission(name)); i >= 0 {
		return uint(i)
	}
	return 4 + uint(slices.Index(Ends(), End(name))) // of others, the largest
}

// Text is the outcome in words.
func (s Submission) Text() string {
	switch s {
	case Invalid:
		return "invalid submission"
	case Missing:
		return "no submission"
	}
	return string(s)
}

// failed is the word for all ends that are failures.
const failed = "failed"

// RetryWords are the words that --retry takes for attempts: those of single ends and of
// submissions, and one for all failures.
func RetryWords() []string {
	known := lists.Where(ends, func(a about) bool { return a.Word })
	return append([]string{failed, string(Invalid)}, lists.Of(known, about.word)...)
}

// Retried returns the outcomes of attempts and of submissions that a word of --retry
// takes; none if there is no such word.
func Retried(word string) (list []string) {
	word = strings.ReplaceAll(word, "_", "-")
	for _, a := range ends {
		if word == failed && a.Failed || a.Word && word == a.word() {
			list = append(list, string(a.End))
		}
	}
	if word == string(Invalid) {
		list = append(list, word)
	}
	return list
}
