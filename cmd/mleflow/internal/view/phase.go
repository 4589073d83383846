package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// PhaseText describes the phase of an agent's attempt and its progress: "placing data 3
// of 9 files, 1.0 MiB of 2.0 MiB", "unpacking the image 1.0 MiB of 2.0 MiB", "0:20 of
// 24:00:00, 1.5 GiB, 12,345 tokens, $1.25, submission valid".
func PhaseText(p step.Phase, now time.Time) string {
	switch p.Name {
	case step.Placing:
		return "placing data " + contentDone(p)
	case step.Starting:
		if p.What != "" {
			return p.What + " " + ProgressText(p.Bytes, p.TotalBytes, "bytes")
		}
	case step.Running:
		return strings.Join(runningParts(p, now), ", ")
	case step.Harvesting:
		return "harvesting " + contentDone(p)
	}
	return string(p.Name)
}

func contentDone(p step.Phase) string {
	return ProgressText(p.Files, p.TotalFiles, "files") + ", " + ProgressText(p.Bytes, p.TotalBytes, "bytes")
}

func runningParts(p step.Phase, now time.Time) []string {
	text := clock(max(0, now.Sub(p.Started)))
	if p.LimitMillis > 0 {
		text += " of " + conditions.Limit((time.Duration(p.LimitMillis) * time.Millisecond).Round(time.Second))
	}
	parts := []string{text}
	if p.MemoryBytes > 0 {
		parts = append(parts, Bytes(p.MemoryBytes))
	}
	if p.Tokens > 0 {
		parts = append(parts, Plural(int(p.Tokens), "token"))
	}
	if p.Cost > 0 {
		parts = append(parts, Dollars(p.Cost))
	}
	return append(parts, submissionText(p))
}

// preparing reports whether the attempt still waits for its data or its image.
func preparing(p step.Phase) bool {
	return p.Name == step.Placing || p.Name == step.Starting && p.What != ""
}

// rateNote returns the speed at which an attempt is prepared.
func rateNote(r *running, now time.Time) string {
	if !preparing(r.Phase) {
		return ""
	}
	text := rateText(event.StepProgress{Progress: step.Progress{Done: r.Phase.Bytes, Total: r.Phase.TotalBytes, Unit: "bytes"}}, &r.Rate, now)
	if text == "" {
		return ""
	}
	return " " + text
}

// spaceWaitText names the disk space that an attempt waits for, and the number of steps
// that hold it.
func spaceWaitText(e event.StepWaiting) string {
	if e.Holders > 0 {
		return OneLine(e.Message) + " (" + fmt.Sprintf("held by %d)", e.Holders)
	}
	return OneLine(e.Message)
}

func submissionText(p step.Phase) string {
	switch {
	case p.Submission == step.SubmissionNone:
		return "no submission"
	case p.Submission == step.SubmissionUnchecked:
		return "submission not checked"
	}
	return "submission " + string(p.Submission)
}
