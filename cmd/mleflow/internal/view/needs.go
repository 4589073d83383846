package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// forecast writes the disk space that a plan needs and whether it is available.
func forecast(w io.Writer, f *plan.Forecast, style Style) {
	if f == nil || f.PeakBytes == 0 && f.Unknown == 0 {
		return
	}
	fmt.Fprintf(w, "%s %s will be added to the cache%s, at most %s are held at once%s%s%s%s.\n", style.Bold("Disk:"), Bytes(f.CacheBytes),
		When(f.Files > 0, " in "+Count(f.Files)+" files"), Bytes(f.PeakBytes), After(", most of it for ", OneLine(f.PeakStep)),
		When(f.NeedBytes < f.PeakBytes, "; "+Bytes(f.NeedBytes)+" suffice"),
		When(f.Space.FreeBytes >= 0, "; the disk has "+Bytes(f.Space.FreeBytes)+" free"),
		When(f.Space.QuotaBytes > 0, "; the cache uses "+Bytes(f.Space.UsedBytes)+" of its quota of "+Bytes(f.Space.QuotaBytes)))
	if f.Unknown > 0 {
		fmt.Fprintf(w, "      %s\n", style.Dim(Plural(f.Unknown, "step")+" cannot estimate their needs yet and are not counted."))
	}
	switch f.Verdict {
	case plan.TooLarge:
		fmt.Fprintf(w, "%s this will not fit: %s.\n", style.Bad("Warning:"), OneLine(f.Warning))
	case plan.Evicts, plan.Waits:
		fmt.Fprintf(w, "%s %s.\n", style.Warn("Note:"), OneLine(f.Warning))
	}
}

// Copies of at least this size, or of this many files, get a warning.
const (
	manyBytes = 64 << 20
	manyFiles = 1000
)

// copies writes the copies that are made before steps run.
func copies(w io.Writer, c *plan.Copies, style Style) {
	if c == nil {
		return
	}
	head := style.Bold("Copies:")
	if c.Bytes >= manyBytes || c.Files >= manyFiles {
		head = style.Warn("Copies:")
	}
	switch {
	case c.Copies == 0:
		fmt.Fprintf(w, "%s %s of yet unknown size", head, Plural(c.Unknown, "input"))
	case c.Copies == 1:
		fmt.Fprintf(w, "%s %s in %s", head, Bytes(c.Bytes), Plural(int(c.Files), "file"))
	default:
		fmt.Fprintf(w, "%s %s in %s, of %s", head, Bytes(c.Bytes), Plural(int(c.Files), "file"), Plural(c.Copies, "input"))
	}
	fmt.Fprintf(w, "%s will be copied, since %s.\n",
		When(c.Copies > 0 && c.Unknown > 0, ", and "+Plural(c.Unknown, "further input")+" of yet unknown size"), OneLine(c.Why))
}

// spending writes the models that steps would use, their limits, and the highest possible
// cost.
func spending(w io.Writer, p *plan.Plan, style Style) {
	var most int64
	all := p.Spending()
	unlimited, besides := "", ""
	for _, s := range all {
		fmt.Fprintf(w, "%s %s (%s: %s) for %s, %s.\n", style.Bold("Model:"), OneLine(s.Model), OneLine(s.Provider), OneLine(strings.Join(s.Models, ", ")), Plural(s.Steps, "step"), spendingLimits(s))
		if len(s.OwnPrices) > 0 && !s.Replayed {
			fmt.Fprintf(w, "%s the budget of the model %s counts with your own prices (%s), so its attempts are a class of their own, beside those at the prices of mleflow's list.\n",
				style.Warn("Prices:"), OneLine(s.Model), OneLine(strings.Join(s.OwnPrices, ", ")))
		}
		if len(s.Tools) > 0 && !s.Replayed {
			fmt.Fprintf(w, "%s the model %s may use %s of its provider.\n", style.Warn("Tools:"), OneLine(s.Model), OneLine(strings.Join(s.Tools, ", ")))
		}
		if len(s.Uncounted) > 0 && !s.Replayed {
			besides = ", besides tools"
			fmt.Fprintf(w, "%s what its provider charges for %s besides tokens is not counted.\n", style.Warn("Tools:"), OneLine(strings.Join(s.Uncounted, ", ")))
		}
		if s.OneRequest > 0 && !s.Replayed {
			fmt.Fprintf(w, "%s a request to the model %s may cost up to %s if it sets no limit of its output (max_output_tokens or the like), which is more than the budget: it would be refused.\n",
				style.Warn("Budget:"), OneLine(s.Model), Dollars(s.OneRequest))
		}
		cost, ok := s.Most()
		if !ok && unlimited == "" {
			unlimited = s.Model
		}
		most += cost
	}
	switch {
	case unlimited != "":
		fmt.Fprintf(w, "%s no limit, since the model %s has no budget of cost.\n", style.Warn("Cost:"), OneLine(unlimited))
	case len(all) > 0:
		fmt.Fprintf(w, "%s %s at most%s.\n", style.Bold("Cost:"), Dollars(most), besides)
	}
}

// spendingLimits returns the limits of a model as part of a sentence.
func spendingLimits(s plan.Spending) string {
	if s.Replayed {
		return "answered from recordings"
	}
	var parts Parts
	parts.If(s.Cost > 0, Dollars(s.Cost))
	parts.If(s.Tokens > 0, fmt.Sprintf("%d tokens", s.Tokens))
	parts.If(s.Requests > 0, Plural(int(s.Requests), "request"))
	text := "each without a limit"
	if len(parts) > 0 {
		text = "each at most " + parts.Join(", ")
	}
	return text + When(s.RunCost > 0, "; "+Dollars(s.RunCost)+" for all")
}

// Preflights writes the findings of the preflight as one table, then the obstacles with
// their fixes, then one line of counts.
func Preflights(w io.Writer, r *event.Run, style Style) {
	t := NewTable("COMPETITION", "FROM", ">DOWNLOAD", ">FILES", ">DISK", "CREDENTIAL", "RULES", "VERDICT")
	for _, p := range r.Preflights {
		t.Row(p.Subject, p.Place, Either(p.Bytes != 0, Bytes(p.Bytes), "?"), Either(p.Files != 0, Count(int64(p.Files)), "?"), Either(p.NeedBytes != 0, Bytes(p.NeedBytes), "?"),
			cmp.Or(p.Credential, "-"), cmp.Or(p.Rules, "-"), p.Verdict)
	}
	t.Write(w, style)
	for _, text := range obstacles(r.Preflights) {
		fmt.Fprintf(w, "%s %s\n", style.Bad("!"), text)
	}
	fmt.Fprintln(w, style.Bold("Preflight:")+" "+preflightText(r.Surveyed))
}

// obstacles lists the obstacles, each reason once, with the address at which to fix it
// unless the error has it.
func obstacles(found []event.Preflight) []string {
	var all []failed
	for _, p := range found {
		if p.Error == "" {
			continue
		}
		text := OneLine(p.Error)
		if !strings.Contains(p.Error, p.Link) {
			text += " (" + OneLine(p.Link) + ")"
		}
		all = append(all, failed{name: OneLine(p.Subject), subject: OneLine(p.Subject), text: text, page: p.Link})
	}
	return lists.Of(lists.Grouped(all, failed.reason), whoFailed)
}

// preflightText sums a preflight up: "20 can be fetched, 2 cannot; 3.0 GiB to
// download, 8.1 GiB of disk".
func preflightText(e event.PreflightFinished) string {
	parts := Parts{fmt.Sprintf("%d can be fetched", e.OK)}
	parts.Count(e.Failed, "cannot")
	parts.Count(e.Unknown, "did not answer")
	text := Parts{parts.Join(", ")}
	text.If(e.Bytes > 0, Bytes(e.Bytes)+" to download")
	text.If(e.NeedBytes > 0, Bytes(e.NeedBytes)+" of disk")
	return text.Join("; ")
}
