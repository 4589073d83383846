package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Bytes writes a size in binary units: "512 B", "1.5 GiB".
func Bytes(n int64) string {
	if n < 1024 && n > -1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value := float64(n)
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := -1
	for (value >= 1024 || value <= -1024) && i < len(units)-1 {
		value /= 1024
		i++
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[i]
}

// Duration writes a duration for people: "0.42s", "12.3s", "4m05s", "2h03m".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-max(d, -math.MaxInt64)) // the least has no opposite
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + "s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}

// Millis is Duration for whole milliseconds.
func Millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

// clock writes a running time to the second: "0:07", "1:02:30".
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Roughly writes an estimated duration: "45s", "59m", "1h02m".
func Roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	case d.Round(time.Minute) < time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Count writes a number with thousands separated by commas.
func Count(n int64) string { return humanize.Comma(n) }

// Score writes a score for people: all its digits, with an exponent only if it is huge or
// tiny.
func Score(v float64) string {
	if size := math.Abs(v); size >= 1e21 || size < 1e-6 && v != 0 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// Plural writes a count and its noun: "1 step", "2,000 steps".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(int64(n)) + " " + noun + "s"
}

// Verb is Plural with a verb for one or for many: "1 step is", "2 steps are".
func Verb(n int, noun, one, many string) string {
	if n == 1 {
		many = one
	}
	return Plural(n, noun) + " " + many
}

// amount writes an amount of a unit: sizes in binary units, else a count.
func amount(n int64, unit string) string {
	if unit == "bytes" {
		return Bytes(n)
	}
	return strings.TrimSpace(Count(n) + " " + unit)
}

// ProgressText writes "3 of 10 files", "1.0 MiB of 2.0 MiB" or, without a
// total, "3 files".
func ProgressText(done, total int64, unit string) string {
	if total <= 0 {
		return amount(done, unit)
	}
	if unit == "bytes" {
		return Bytes(done) + " of " + Bytes(total)
	}
	return Count(done) + " of " + amount(total, unit)
}
