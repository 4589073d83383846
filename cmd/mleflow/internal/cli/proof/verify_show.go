package proof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/step"
)

// verdict is what is known of a bundle in the end.
type verdict struct {
	*bundle.Examined
	report *verify.Report
	// regrade says that grading again was asked for.
	regrade bool
	// committed says where the chain has the given commitment; empty if none was given.
	committed string
}

// VerdictJSON is what verify --json prints of a bundle.
type VerdictJSON struct {
	*bundle.Examined
	// OK says that everything which can be recomputed was, and is the same.
	OK     bool   `json:"ok"`
	Status int    `json:"exit_status"`
	Error  string `json:"error,omitempty"`
	// The three lists: every statement of the bundle is in one of them.
	Recomputed []string `json:"recomputed"`
	Matched    []string `json:"matched"`
	Claimed    []string `json:"claimed"`
	ClaimedBy  string   `json:"claimed_by"`
	*verify.Report
}

// count returns how many rows have a standing.
func (v verdict) count(s verify.Standing) int {
	return number(v.report.Rows, func(r verify.Row) bool { return r.Standing == s })
}

// boards returns how many boards have a standing.
func (v verdict) boards(s verify.Standing) int {
	return number(v.report.Boards, func(b verify.Board) bool { return b.Standing == s })
}

// unchecked returns how many scores there are whose agent was given public data that
// were compared with nothing.
func (v verdict) unchecked() int { return number(v.report.Rows, unchecked) }

func unchecked(r verify.Row) bool { return r.Unchecked != "" && r.Standing != verify.Refused }

func number[T any](list []T, is func(T) bool) int {
	return len(lists.Where(list, is))
}

// err is the outcome: a mismatch where anything is refused, and a status of its
// own where scores are only claimed.
func (v verdict) err() error {
	var bad []error
	for _, r := range v.report.Rows {
		if r.Standing == verify.Refused {
			bad = append(bad, fmt.Errorf("%s: %s", r.Address, r.Why))
		}
	}
	for _, b := range v.report.Boards {
		if b.Standing == verify.Refused {
			bad = append(bad, fmt.Errorf("%s: %s", b.Address, b.Why))
		}
	}
	claimed := v.count(verify.Claimed)
	switch {
	case len(bad) > 0:
		return step.Mismatch(fmt.Errorf("its scores are wrong:\n%w", errors.Join(bad[:min(len(bad), 20)]...)))
	case claimed > 0 && !v.regrade:
		return fmt.Errorf("%w: %s only claimed; grade again with --regrade, with your own data in the cache or in --data-dir", app.ErrClaimed, view.Verb(claimed, "score", "is", "are"))
	case claimed > 0:
		return fmt.Errorf("%w: %s only claimed, because you have no answers of your own", app.ErrClaimed, view.Verb(claimed, "score", "is", "are"))
	case v.unchecked() > 0:
		return fmt.Errorf("%w: the public data behind %s not checked, because you have none of your own", app.ErrClaimed, view.Verb(v.unchecked(), "score", "is", "are"))
	}
	return nil
}

// recomputed are the statements that were made again here.
func (v verdict) recomputed() []string {
	list := view.Parts{
		keysText(v.Examined) + fmt.Sprintf("; %d of them by the definitions of this mleflow", v.report.Keys),
		"lock, disclosure and provenance, from the records",
	}
	if n := len(v.report.Boards); n > 0 {
		text := fmt.Sprintf("%d of %s, from the reports in the bundle", v.boards(verify.Claimed)+v.boards(verify.Recomputed), view.Plural(n, "leaderboard"))
		if m := v.boards(verify.Recomputed); m > 0 {
			text = fmt.Sprintf("%d of %s, from reports made here", m, view.Plural(n, "leaderboard"))
		}
		list = append(list, text)
	}
	if e := v.report.Evaluation; e != nil {
		list = append(list, "evaluation "+e.Name+", from the reports and the chain: "+view.Evaluation(*e))
	}
	list.Count(v.count(verify.Recomputed), "of "+view.Plural(len(v.report.Rows), "score")+", graded again with the answers on this machine")
	list = v.each(list, func(r verify.Row) string {
		scores := r.Queries.String()
		return view.When(scores != "", "the split of "+r.Competition+" "+r.Version+" for "+r.Attempt+", and against its labels "+scores)
	})
	return v.each(list, func(r verify.Row) string {
		return view.When(r.Standing == verify.Recomputed, "answers of "+r.Competition+" "+r.Version+": "+r.Answers)
	})
}

// each adds what a function says of the rows, each text once.
func (v verdict) each(list []string, says func(verify.Row) string) []string {
	for _, r := range v.report.Rows {
		if text := says(r); text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// matched are the statements that a digest ties to something known.
func (v verdict) matched() []string {
	list := view.Parts{fmt.Sprintf("every byte: %s, manifest sha256:%s", view.Plural(v.Files, "file"), v.Manifest), "pipeline, submissions and files of agents: against the records"}
	pinned := v.report.Pinned
	list.If(len(pinned) > 0, "prepared data of "+strings.Join(pinned, ", ")+": against the manifests that this version of mleflow pins")
	list.If(v.Trusted != "", "the signature: against your key")
	list.If(v.committed != "", "the commitment: "+v.committed)
	return list
}

// claimed are the statements that nothing was found for or against.
func (v verdict) claimed() []string {
	var list view.Parts
	scores := v.count(verify.Claimed)
	list.If(scores > 0, view.Plural(scores, "score")+" and what leaderboards say of them")
	list = v.each(list, func(r verify.Row) string {
		return view.When(r.Standing == verify.Claimed && r.Why != "", r.Competition+" "+r.Version+": "+r.Why)
	})
	list = v.each(list, func(r verify.Row) string {
		return view.When(unchecked(r), "public data of "+r.Competition+" "+r.Version+": not checked: "+r.Unchecked)
	})
	list = v.each(list, func(r verify.Row) string {
		claims := r.Queries.Claims()
		return view.When(claims != "" && r.Standing != verify.Refused, r.Attempt+": "+claims)
	})
	for _, b := range v.report.Boards {
		list.If(b.Why == verify.OtherWords, "the words of "+b.Address+": "+b.Why)
	}
	list = v.each(list, func(r verify.Row) string {
		if r.Money == nil {
			return ""
		}
		return "what the models of " + r.Attempt + " used: " + r.Money.String()
	})
	list = append(list, "that agents ran as configured (command, model, time, network) and that nobody helped them", "isolation of attempts: "+v.Isolation)
	remarks, others := strings.TrimSpace(v.Run.RunName+" "+v.Run.Said()), len(v.report.Other)
	list.If(remarks != "", "name, tags and note of the run: "+view.OneLine(remarks))
	list.If(others > 0, "what "+view.Plural(others, "step")+" of other kinds gave")
	if v.Chain != nil && v.Chain.Lines > 0 {
		list = append(list, fmt.Sprintf("that this is the only cache, and its chain is whole: %s since %s, the last is sha256:%s", view.Plural(v.Chain.Lines, "line"), v.Chain.First.Format(time.DateTime), v.Chain.Head))
		list = append(list, lists.Of(v.Chain.Agents, bundle.Tried.String)...)
	}
	return append(list, "machine, times, logs, plan, and the number of earlier attempts", "which mleflow ran: its version and the SHA-256 of its binary")
}

// claimedBy says who answers for what is only claimed.
func (v verdict) claimedBy() string {
	switch {
	case v.Trusted != "":
		return "the holder of key " + v.Trusted
	case v.Signatures > 0:
		return "nobody: its " + view.Plural(v.Signatures, "signature") + " can be checked with --public-key only"
	}
	return "nobody: it is not signed, and anyone could have made it"
}

func showExamined(t *app.Terminal, path string, v verdict) error {
	err := v.err()
	out := VerdictJSON{
		Examined: v.Examined, OK: err == nil, Status: app.ExitStatus(err), Recomputed: v.recomputed(), Matched: v.matched(),
		Claimed: v.claimed(), ClaimedBy: v.claimedBy(), Report: v.report,
	}
	if err != nil {
		out.Error = err.Error()
	}
	return errors.Join(t.Show(out, func() { v.write(t, path, out) }), err)
}

func (v verdict) write(t *app.Terminal, path string, out VerdictJSON) {
	n, all := v.unchecked(), view.Plural(len(v.report.Rows), "score")
	head := string(v.Run.State) + view.When(n > 0, fmt.Sprintf("; public data: not checked (%d of %s)", n, all))
	fmt.Fprintf(t.Stdout, "%s: run %s by mleflow %s, %s\n", path, view.OneLine(v.Run.ID), view.OneLine(v.Run.Version), view.OneLine(head))
	for _, found := range v.first() {
		fmt.Fprintf(t.Stdout, "%s\n", t.OutStyle().Bad(view.OneLine(found)))
	}
	list := func(title string, lines []string) {
		fmt.Fprintf(t.Stdout, "\n%s\n", t.OutStyle().Bold(title))
		for _, l := range lines {
			fmt.Fprintf(t.Stdout, "  %s\n", view.OneLine(l))
		}
	}
	list("Recomputed here", out.Recomputed)
	list("Matched by digest", out.Matched)
	list("Only claimed, by "+out.ClaimedBy, out.Claimed)
	if flags := v.flags(); len(flags) > 0 {
		list("Look at these", flags)
	}
	fmt.Fprintf(t.Stdout, "\n%s left out, listed in omitted.json: data, answers and whatever would disclose them.\n", cmp.Or(view.Plural(v.Omitted, "thing"), "nothing"))
}

// first are the findings on the tries, which are shown first.
func (v verdict) first() (list view.Parts) {
	if e := v.report.Evaluation; e != nil && (e.Selected() || e.Unknown > 0) {
		list = append(list, "evaluation "+e.Name+": "+e.Declaration())
	}
	if v.Chain == nil {
		return list
	}
	list = append(list, v.Chain.Gaps...)
	for _, t := range v.Chain.Agents {
		list.If(t.ThrownAway() > 0, "tries thrown away: "+t.String())
	}
	list.If(v.Chain.Removed > 0, view.Verb(v.Chain.Removed, "run", "was", "were")+" removed from the run history; the chain counts their attempts")
	return list
}

// flags are what a person should look at.
func (v verdict) flags() (list view.Parts) {
	if v.Chain != nil {
		list = append(list, v.Chain.Differs...)
	}
	for _, r := range v.report.Rows {
		for _, f := range r.Flags {
			list = append(list, r.Address+": "+f)
		}
		list.If(r.Others > 0, fmt.Sprintf("%s: %s in its place or of the same agent before it", r.Address, view.Plural(r.Others, "other attempt")))
		list.If(r.Attempt == "" && r.Standing != verify.Refused, r.Address+": no attempt made the submission")
	}
	return append(list, view.Acts(v.Acts)...)
}

func keysText(x *bundle.Examined) string {
	masked := view.When(len(x.Masked) > 0, fmt.Sprintf(", %d not, since folders or private values are masked", len(x.Masked)))
	return view.Plural(x.Actions, "key") + " of steps, from the inputs" + masked
}
