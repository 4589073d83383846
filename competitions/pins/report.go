package pins

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/dustin/go-humanize"
)

// Verdict is the result of a verification.
type Verdict string

// The verdicts. Unpinned means that there was nothing to compare with.
const (
	Verified Verdict = "verified"
	Unpinned Verdict = "unpinned"
	Differs  Verdict = "mismatch"
)

// Problem is the kind of mismatch of a file.
type Problem string

// The problems. A folder whose files are not listed is Wrong as a whole.
const (
	Wrong      Problem = "wrong"
	Missing    Problem = "missing"
	Unexpected Problem = "unexpected"
)

// Report says what was compared.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Pinned is the number of pins, Matched how many of them match. The digest
	// of all files counts as one.
	Pinned  int `json:"pinned"`
	Matched int `json:"matched"`
	// Manifest is the digest of the folder of all files; empty when the
	// competition pins none and it was not known.
	Manifest string `json:"manifest"`
	// Wrong, Missing and Unexpected count all files with that problem, of
	// which Mismatches holds the first.
	Wrong      int64      `json:"wrong"`
	Missing    int64      `json:"missing"`
	Unexpected int64      `json:"unexpected"`
	Mismatches []Mismatch `json:"mismatches"`
	// Note explains why no more is known, if so.
	Note string `json:"note"`
}

// Mismatch is a file, or the folder of all files, that differs from the expected
// one.
type Mismatch struct {
	Path    string  `json:"path"`
	Problem Problem `json:"problem"`
	// Want and Got are digests: MD5 for a pin, else SHA-256. One that is not
	// known is empty.
	Want string `json:"want"`
	Got  string `json:"got"`
	// WantBytes and GotBytes are sizes, -1 when not known.
	WantBytes int64 `json:"want_bytes"`
	GotBytes  int64 `json:"got_bytes"`
	// SameContent reports whether the content is equal though the bytes differ.
	SameContent bool `json:"same_content"`
	// Explanation describes how the file differs, as far as known.
	Explanation string `json:"explanation"`
}

// String describes the mismatch in one line.
func (m Mismatch) String() string {
	var b strings.Builder
	b.WriteString(m.Path + ": ")
	switch m.Problem {
	case Missing:
		b.WriteString("missing" + sumText(m.Want, m.WantBytes, " (want %s)"))
	case Unexpected:
		b.WriteString("unexpected" + sumText(m.Got, m.GotBytes, " (%s)"))
	default:
		b.WriteString("want " + sumText(m.Want, m.WantBytes, "%s") + ", got " + sumText(m.Got, m.GotBytes, "%s"))
	}
	if m.Explanation != "" {
		b.WriteString(": " + m.Explanation)
	}
	return b.String()
}

// sumText shows a digest and a size in a format with one verb; nothing when
// neither is known.
func sumText(digest string, size int64, format string) string {
	var parts []string
	switch {
	case len(digest) == 32:
		parts = append(parts, "MD5 "+digest)
	case digest != "":
		parts = append(parts, "SHA-256 "+digest)
	}
	if size >= 0 {
		parts = append(parts, humanize.Comma(size)+" bytes")
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(format, strings.Join(parts, ", "))
}

// Lines says everything that is wrong, at most limit files; 0 is all.
func (r Report) Lines(limit int) []string {
	var lines []string
	shown := r.Mismatches
	if limit > 0 && len(shown) > limit {
		shown = shown[:limit]
	}
	lines = append(lines, lists.Of(shown, Mismatch.String)...)
	if more := r.Wrong + r.Missing + r.Unexpected - int64(len(shown)); more > 0 {
		lines = append(lines, fmt.Sprintf("… and %s more", humanize.Comma(more)))
	}
	if r.Note != "" {
		lines = append(lines, r.Note)
	}
	return lines
}

// Counts says in a few words how much is wrong.
func (r Report) Counts() string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what Problem
	}{{r.Wrong, Wrong}, {r.Missing, Missing}, {r.Unexpected, Unexpected}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", humanize.Comma(c.n), c.what))
		}
	}
	return strings.Join(parts, ", ")
}
