package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/engine/event"
)

// Preflights writes the findings of the preflight as one table, then the obstacles with
// their fixes, then one line of counts.
func Preflights(w io.Writer, r *event.Run, style Style) error {
	t := NewTable("COMPETITION", "FROM", ">DOWNLOAD", ">FILES", ">DISK", "CREDENTIAL", "RULES", "VERDICT")
	for _, p := range r.Preflights {
		t.Row(p.Subject, p.Place, sizeCell(p.Bytes), countCell(p.Files), sizeCell(p.NeedBytes), cmp.Or(p.Credential, "-"), cmp.Or(p.Rules, "-"), p.Verdict)
	}
	if err := t.Write(w, style); err != nil {
		return err
	}
	for _, o := range obstacles(r.Preflights) {
		fmt.Fprintf(w, "%s %s: %s\n", style.Bad("!"), o.who(), o.text)
	}
	_, err := fmt.Fprintln(w, style.Bold("Preflight:")+" "+preflightText(r.Surveyed))
	return err
}

// obstacles lists the obstacles, each reason once.
func obstacles(found []event.Preflight) []*reason {
	var all reasons
	for _, p := range found {
		if p.Error != "" {
			all.add(OneLine(p.Subject), OneLine(p.Subject), OneLine(p.Error)+linkText(p))
		}
	}
	return all.list
}

// linkText returns the address at which to fix an obstacle, unless the error has it.
func linkText(p event.Preflight) string {
	if p.Link == "" || strings.Contains(p.Error, p.Link) {
		return ""
	}
	return " (" + OneLine(p.Link) + ")"
}

// preflightText sums a preflight up: "20 can be fetched, 2 cannot; 3.0 GiB to
// download, 8.1 GiB of disk".
func preflightText(e event.PreflightFinished) string {
	parts := []string{fmt.Sprintf("%d can be fetched", e.OK)}
	if e.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot", e.Failed))
	}
	if e.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d did not answer", e.Unknown))
	}
	text := strings.Join(parts, ", ")
	if e.Bytes > 0 {
		text += "; " + Bytes(e.Bytes) + " to download"
	}
	if e.NeedBytes > 0 {
		text += "; " + Bytes(e.NeedBytes) + " of disk"
	}
	return text
}

func sizeCell(n int64) string {
	if n == 0 {
		return "?"
	}
	return Bytes(n)
}

func countCell(n int) string {
	if n == 0 {
		return "?"
	}
	return Count(int64(n))
}
