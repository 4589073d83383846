package view

import (
	"fmt"
	"io"

	"github.com/mleflow/mleflow/engine/plan"
)

// forecast writes the disk space that a plan needs and whether it is available.
func forecast(w io.Writer, f *plan.Forecast, style Style) {
	if f == nil || f.PeakBytes == 0 && f.Unknown == 0 {
		return
	}
	fmt.Fprintf(w, "%s %s will be added to the cache", style.Bold("Disk:"), Bytes(f.CacheBytes))
	if f.Files > 0 {
		fmt.Fprintf(w, " in %s files", Count(f.Files))
	}
	fmt.Fprintf(w, ", at most %s are held at once", Bytes(f.PeakBytes))
	if f.PeakStep != "" {
		fmt.Fprintf(w, ", most of it for %s", OneLine(f.PeakStep))
	}
	if f.NeedBytes < f.PeakBytes {
		fmt.Fprintf(w, "; %s suffice", Bytes(f.NeedBytes))
	}
	fmt.Fprintf(w, "%s.\n", roomText(f))
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

// roomText returns the available space.
func roomText(f *plan.Forecast) string {
	text := ""
	if f.Space.FreeBytes >= 0 {
		text = "; the disk has " + Bytes(f.Space.FreeBytes) + " free"
	}
	if f.Space.QuotaBytes > 0 {
		text += "; the cache uses " + Bytes(f.Space.UsedBytes) + " of its quota of " + Bytes(f.Space.QuotaBytes)
	}
	return text
}
