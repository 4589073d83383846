package transcript

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// assistant is the role whose messages are never normalised: they repeat
// recorded responses.
const assistant = "assistant"

// rule replaces what two runs of one program print differently.
type rule struct {
	name, pattern string
	// holds decides whether a match is meant; nil: always.
	holds func(n *normaliser, match string) bool
}

// The parts of a date that has the name of its month.
const (
	weekday = `\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?`
	month   = `(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?`
	clock   = `\b(?:,? \d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?: [AP]M\b)?(?: (?:[A-Z]{3,4}\b|[+-]\d{4}\b))?`
)

// rules are tried in order at each position. FORMAT.md explains them.
var rules = []rule{
	{"id", `\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`, nil},
	{"time", `\b\d{4}-\d\d-\d\d(?:[T _]\d\d[:-]?\d\d(?:[:-]?\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d\b))?)?`, (*normaliser).isNow},
	{"time", weekday + `\d{1,2} ` + month + ` \d{4}` + clock, (*normaliser).isNamed},
	{"time", weekday + month + ` +\d{1,2}(?:,? \d{4})?` + clock + `(?: \d{4}\b)?`, (*normaliser).isNamed},
	{"time", `(?:\b|_)20\d{6}[T_-]\d{4,6}\b`, (*normaliser).isNow},
	{"time", `\b1\d{9}(?:\.\d{1,9})?\b|\b1\d{12}\b|\b1\d{15}\b|\b1\d{18}\b`, (*normaliser).isEpoch},
	{"time", `\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b`, nil},
	{"time", `\[(?:\d+:)?\d\d:\d\d<(?:(?:\d+:)?\d\d:\d\d|\?)`, nil},
	{"duration", `\b\d+m ?\d+(?:\.\d+)?s\b`, nil},
	{"rate", `\b\d+(?:\.\d+)? ?[a-zA-Z]{1,8}/(?:s|sec|second|it|iter|step|epoch|batch)\b`, nil},
	{"duration", `\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms)\b`, nil},
	{"duration", `\b\d+\.\d+(?:e-\d+)? ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b`, nil},
	{"duration", `(?i)\b(?:elapsed|took|takes|taken|remaining|eta|runtime|uptime|duration|execution time|wall time|(?:passed|failed|finished|completed|done|built|installed|resolved) in)(?: time)?[:= ]{1,3}(?:about )?\d+(?:\.\d+)?(?: ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b)?(?:(?:,? and|,)? \d+ (?:seconds?|minutes?)\b)?`, nil},
	{"duration", `(?i)\b\d+ ?(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?:(?:,? and|,)? \d+ (?:seconds?|minutes?))? (?:elapsed|remaining|left|ago)\b`, nil},
	{"address", `\b0x[0-9a-fA-F]{6,16}\b`, nil},
	{"port", `(?:\blocalhost|\b127\.0\.0\.1|\b0\.0\.0\.0|\[::1?\]):\d{4,5}\b`, nil},
	{"process", `(?i)\bpid[:= ]{1,2}\d+\b`, nil},
	{"path", `(?:/[\w.@+-]+)*/(?:tmp|kept)/[\w.@+-]+`, (*normaliser).isTemporary},
	{"id", `\b(?:[0-9a-f]{8,64}|[0-9A-F]{8,64})\b`, (*normaliser).isID},
}

// pattern is all rules, each a group.
var pattern = func() *regexp.Regexp {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = "(" + r.pattern + ")"
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

// normaliser applies the rules to what was said about one time: dates far from
// it are data and stay.
type normaliser struct{ now time.Time }

// of is the text of a message as it is compared.
func (n *normaliser) of(role string, text []byte) []byte {
	if role == assistant {
		return text
	}
	return n.apply(text)
}

// escapes are line ends and tabs as JSON spells them.
var escapes = regexp.MustCompile(`\\[\\nrt"]`)

// apply replaces what the rules match by the names of the rules.
func (n *normaliser) apply(text []byte) []byte {
	text = escapes.ReplaceAllFunc(text, func(m []byte) []byte {
		switch m[1] {
		case 'n':
			return []byte("\n")
		case 'r':
			return []byte("\r")
		case 't':
			return []byte("\t")
		}
		return m
	})
	var out []byte
	last := 0
	for _, m := range pattern.FindAllSubmatchIndex(text, -1) {
		if r := ruleOf(m); r.holds == nil || r.holds(n, string(text[m[0]:m[1]])) {
			out = append(append(append(append(out, text[last:m[0]]...), '<'), r.name...), '>')
			last = m[1]
		}
	}
	return append(out, text[last:]...)
}

// ruleOf is the rule that a match is of.
func ruleOf(match []int) rule {
	for i := range rules {
		if match[2*i+2] >= 0 {
			return rules[i]
		}
	}
	return rule{}
}

// near reports whether a day is one on which the run may have been.
func (n *normaliser) near(t time.Time) bool {
	const before, after = 2 * 24 * time.Hour, 14 * 24 * time.Hour
	return t.After(n.now.Add(-before)) && t.Before(n.now.Add(after))
}

// isNow reports whether a date in digits, year first, is near.
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
	monthName = regexp.MustCompile(`Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec`)
	dayNumber = regexp.MustCompile(`\b0?(\d{1,2})\b`)
	yearShown = regexp.MustCompile(`\b(?:19|20)\d\d\b`)
)

// isNamed reports whether a date with the name of its month is near.
func (n *normaliser) isNamed(match string) bool {
	year := yearShown.FindString(match)
	if year == "" {
		year = strconv.Itoa(n.now.Year())
	}
	t, err := time.Parse("2006 Jan 2", year+" "+monthName.FindString(match)+" "+dayNumber.FindStringSubmatch(match)[1])
	return err == nil && n.near(t)
}

// isEpoch reports whether a number is a time near, in seconds or parts of them.
func (n *normaliser) isEpoch(match string) bool {
	seconds, err := strconv.ParseInt(match[:10], 10, 64)
	return err == nil && n.near(time.Unix(seconds, 0))
}

// isTemporary reports whether the last name of a path is one that a program
// made up.
func (n *normaliser) isTemporary(match string) bool {
	name := match[strings.LastIndexByte(match, '/')+1:]
	return strings.HasPrefix(name, "tmp") && len(name) > 5 || len(name) >= 6 && strings.ContainsAny(name, "0123456789") && !strings.Contains(name, ".")
}

// isID reports whether hexadecimal digits are more than a number or a word.
func (n *normaliser) isID(match string) bool {
	return strings.ContainsAny(match, "0123456789") && strings.ContainsAny(match, "abcdefABCDEF")
}
