package transcript

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// assistant is the role whose messages are never normalised: they repeat
// recorded responses.
const assistant = "assistant"

// rule replaces text that differs between two runs of one program.
type rule struct {
	name    string
	pattern *pattern.Pattern
	// Only lines that contain one of the strings in needs are matched against
	// the pattern. They must also have a run of at least this many hexadecimal
	// digits, one of them decimal. digits is -1 if no run is required.
	needs  []string
	digits int
	// holds reports whether a match counts. If it is nil, all matches count.
	holds func(n *normaliser, match string) bool
}

// The parts of a date with a month name.
const (
	weekday = `\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?`
	month   = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?`
	clock   = `\b(?:,? \d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: [AP]M\b)?(?: (?:[A-Z]{3,4}\b|[+-]\d{4}\b))?`
)

func newRule(name, source string, digits int, needs string, holds func(n *normaliser, match string) bool) rule {
	return rule{name, pattern.New(source), strings.Split(needs, "|"), digits, holds}
}

const unit = `(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b`

// rules are applied in order to each line. FORMAT.md explains them.
var rules = []rule{
	newRule("id", `\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`, 12, "-", nil),
	newRule("time", `\b\d{4}-\d\d-\d\d(?:[T _]\d\d[:-]?\d\d(?:[:-]?\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d\b))?)?`, 4, "-", (*normaliser).isNow),
	newRule("time", weekday+`\d{1,2} `+month+` \d{4}`+clock, 4, months, (*normaliser).isNamed),
	newRule("time", weekday+month+` +\d{1,2}(?:,? \d{4})?`+clock+`(?: \d{4}\b)?`, 1, months, (*normaliser).isNamed),
	newRule("time", `(?:\b|_)20\d{6}[T_-]\d{4,6}\b`, 8, "20", (*normaliser).isNow),
	newRule("time", `\b1\d{9}(?:\.\d{1,9})?\b|\b1\d{12}\b|\b1\d{15}\b|\b1\d{18}\b`, 10, "1", (*normaliser).isEpoch),
	newRule("time", `\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b`, 2, ":", nil),
	newRule("time", `\[(?:\d+:)?\d\d:\d\d<(?:(?:\d+:)?\d\d:\d\d|\?)`, 2, "<", nil),
	newRule("duration", `\b\d+m ?\d+(?:\.\d+)?s\b`, 1, "m", nil),
	newRule("rate", `\b\d+(?:\.\d+)? ?[a-zA-Z]{1,8}/(?:s|sec|second|it|iter|step|epoch|batch)\b`, 1, "/", nil),
	newRule("duration", `\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms)\b`, 1, "ns|us|µs|ms", nil),
	newRule("duration", `\b\d+\.\d+(?:e-\d+)? ?`+unit, 1, ".", nil),
	newRule("duration", `(?i)\b(?:elapsed|took|takes|taken|remaining|eta|runtime|uptime|duration|execution time|wall time|(?:passed|failed|finished|completed|done|built|installed|resolved) in)(?: time)?[:= ]{1,3}(?:about )?\d+(?:\.\d+)?(?: ?`+unit+`)?(?:(?:,? and|,)? \d+ (?:seconds?|minutes?)\b)?`, 1,
		"elapsed|took|take|remaining|eta|time|duration| in |Elapsed|Took|Take|Remaining|ETA|Time|Duration|TIME", nil),
	newRule("duration", `(?i)\b\d+ ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?:(?:,? and|,)? \d+ (?:seconds?|minutes?))? (?:elapsed|remaining|left|ago)\b`, 1, "elapsed|remaining|left|ago", nil),
	newRule("address", `\b0x[0-9a-fA-F]{6,16}\b`, 6, "0x", nil),
	newRule("port", `(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0|\[::1?\]):\d{4,5}\b`, 4, "localhost|127.|0.0.|[:", nil),
	newRule("process", `(?i)\bpid[:= ]{1,2}\d+\b`, 1, "pid|PID|Pid", nil),
	newRule("path", `(?:/[\w.@+-]+)*/(?:tmp|kept)/[\w.@+-]+`, -1, "/tmp/|/kept/", (*normaliser).isTemporary),
	newRule("id", `\bChunk ID: [0-9a-f]+\b`, -1, "Chunk ID: ", nil), // before each output of Codex's shell
	newRule("id", `\b(?:[0-9a-f]{8,64}|[0-9A-F]{8,64})\b`, 8, "", (*normaliser).isID),
}

const months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"

// normaliser applies the rules to messages of about one time. Dates far from it
// are data and are kept.
type normaliser struct{ now time.Time }

// of returns the text of a message for comparison.
func (n *normaliser) of(role string, text []byte) []byte {
	if role == assistant {
		return text
	}
	return n.apply(text)
}

// apply replaces matches of the rules by the names of the rules, line by line.
// Line ends and tabs that JSON escapes also end a line.
func (n *normaliser) apply(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(unescape(text)) {
		out = append(out, n.line(line)...)
	}
	return out
}

func (n *normaliser) line(line []byte) []byte {
	digits := longestRun(line)
	for i := range rules {
		if r := &rules[i]; r.digits <= digits && r.mayMatch(line) {
			line = n.replace(r, line)
			digits = longestRun(line)
		}
	}
	return line
}

// mayMatch is a fast test that excludes most lines.
func (r *rule) mayMatch(line []byte) bool {
	return slices.ContainsFunc(r.needs, func(s string) bool { return bytes.Contains(line, []byte(s)) })
}

func (n *normaliser) replace(r *rule, line []byte) []byte {
	return r.pattern.Regexp().ReplaceAllFunc(line, func(match []byte) []byte {
		if r.holds != nil && !r.holds(n, string(match)) {
			return match
		}
		return []byte("<" + r.name + ">")
	})
}

// longestRun returns the length of the longest run of hexadecimal digits with
// at least one decimal digit, or -1 if there is none.
func longestRun(line []byte) int {
	longest, run, decimal := -1, 0, false
	for _, c := range line {
		switch {
		case c >= '0' && c <= '9':
			run, decimal = run+1, true
		case c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F':
			run++
		default:
			run, decimal = 0, false
			continue
		}
		if decimal {
			longest = max(longest, run)
		}
	}
	return longest
}

// unescape decodes escaped line ends and tabs, so that they separate words.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	return []byte(unescaper.Replace(string(text)))
}

var unescaper = strings.NewReplacer(`\\`, `\\`, `\n`, "\n", `\r`, "\r", `\t`, "\t")

// near reports whether a day is close to the time of the run.
func (n *normaliser) near(t time.Time) bool {
	const before, after = 2 * 24 * time.Hour, 14 * 24 * time.Hour
	return t.After(n.now.Add(-before)) && t.Before(n.now.Add(after))
}

// isNow reports whether a date in digits, starting with the year, is near the
// run.
func (n *normaliser) isNow(match string) bool {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, match)
	t, err := time.Parse("20060102", digits[:8])
	return err == nil && n.near(t)
}

var (
	monthName = pattern.New(months)
	dayNumber = pattern.New(`\b0?(\d{1,2})\b`)
	yearShown = pattern.New(`\b(?:19|20)\d\d\b`)
)

// isNamed reports whether a date with a month name is near the run.
func (n *normaliser) isNamed(match string) bool {
	year := cmp.Or(yearShown.Regexp().FindString(match), strconv.Itoa(n.now.Year()))
	t, err := time.Parse("2006 Jan 2", year+" "+monthName.Regexp().FindString(match)+" "+dayNumber.Regexp().FindStringSubmatch(match)[1])
	return err == nil && n.near(t)
}

// isEpoch reports whether a number is a time near the run, in seconds or
// fractions of a second.
func (n *normaliser) isEpoch(match string) bool {
	seconds, err := strconv.ParseInt(match[:10], 10, 64)
	return err == nil && n.near(time.Unix(seconds, 0))
}

// isTemporary reports whether the last element of a path looks generated.
func (n *normaliser) isTemporary(match string) bool {
	name := match[strings.LastIndexByte(match, '/')+1:]
	return strings.HasPrefix(name, "tmp") && len(name) > 5 || len(name) >= 6 && strings.ContainsAny(name, "0123456789") && !strings.Contains(name, ".")
}

// isID reports whether hexadecimal digits are neither a number nor a word.
func (n *normaliser) isID(match string) bool {
	return strings.ContainsAny(match, "0123456789") && strings.ContainsAny(match, "abcdefABCDEF")
}
