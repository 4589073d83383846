package rules

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// Attempt holds the files that an attempt left. A nil part is missing, and rules
// about it find nothing.
type Attempt struct {
	// Code is its folder of code, Submission its folder with the file of that name.
	Code, Submission fs.FS
	File             string
	// Data are the public files it had, with the sample submission at that path.
	Data   fs.FS
	Sample string
	// Network, Validation and Shim are the sandbox's records, as JSON lines.
	Network, Validation, Shim io.Reader
	Transcript                *transcript.Reader
	// Public are the collections that have labels of the competition's hidden rows.
	Public []competitions.PublicLabels
}

// Rule is one thing to look for.
type Rule struct {
	Name string
	// Doc describes its findings, and Honest those that an honest attempt may have.
	Doc, Honest string
	// begin returns the callbacks for the parts of one attempt.
	begin func(c *ruleCheck) visitor
}

// All are the rules, in the order of the documentation.
func All() []Rule {
	return []Rule{
		graderImport, privateData, outsideData, handLabelled, modelPredictions, providerSearch, knownData, sampleCopy, probing, testScores,
	}
}

// visitor is called for the parts of an attempt; nil functions are not.
type visitor struct {
	// source gets each Python file and notebook of the code, with its tokens.
	source func(s *pysource.Source, tokens []pysource.Token)
	// text gets possible paths and commands: strings in Python, the lines of other
	// files of code, and the lines that models gave to tools.
	text func(p location, text string)
	// reply gets all that a model wrote in one exchange.
	reply func(p location, text string)
	turn  func(p location, t *transcript.Turn)
	conn  func(p location, c proxy.Conn)
	valid func(p location, c validity.Call)
	shim  func(p location, r shim.Record)
	// end is called last.
	end func()
}

// location is where a match is, as in a Finding.
type location struct {
	file, in string
	line     int
}

// mostFindings bounds those of one rule, mostExcerpt their texts.
const (
	mostFindings = 20
	mostExcerpt  = 200
)

// check is the check of one attempt.
type check struct {
	*Attempt
	ids      ids
	visitors []visitor
	found    []evidence.Finding
	// read is how many bytes of files were read that are not Python.
	read int
	// unread are the parts that could not be read, with the reason.
	unread []string
}

// ruleCheck is the check of one attempt by one rule.
type ruleCheck struct {
	*check
	rule string
	// reported are the locations of its findings.
	reported map[location]bool
}

// Result holds the findings.
type Result struct {
	// Findings have the warnings first.
	Findings []evidence.Finding
	// Unread names the parts that could not be read. They may hide something.
	Unread []string
}

// Check applies the rules. The error is that of a store or ctx; mistakes in the
// attempt's files are in the result.
func Check(ctx context.Context, a *Attempt, list []Rule) (*Result, error) {
	c := &check{Attempt: a}
	if err := c.readIDs(); err != nil {
		return nil, err
	}
	rules := make([]*ruleCheck, len(list))
	for i, r := range list {
		rules[i] = &ruleCheck{check: c, rule: r.Name, reported: map[location]bool{}}
		c.visitors = append(c.visitors, r.begin(rules[i]))
	}
	for _, part := range []func(context.Context) error{c.code, c.conversations, c.records} {
		if err := part(ctx); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, v := range c.visitors {
		if v.end != nil {
			v.end()
		}
	}
	for _, r := range rules {
		if n := len(r.reported); n > mostFindings {
			c.found = append(c.found, evidence.Finding{Rule: r.rule, Severity: evidence.Note, Explanation: fmt.Sprintf("There are %d more findings of this rule.", n-mostFindings)})
		}
	}
	evidence.Sort(c.found)
	return &Result{c.found, c.unread}, nil
}

// warn adds a warning, unless the rule has a finding there.
func (r *ruleCheck) warn(p location, excerpt, format string, args ...any) {
	r.find(evidence.Warning, p, excerpt, fmt.Sprintf(format, args...))
}

// note adds a note, unless the rule has a finding there.
func (r *ruleCheck) note(p location, excerpt, format string, args ...any) {
	r.find(evidence.Note, p, excerpt, fmt.Sprintf(format, args...))
}

func (r *ruleCheck) find(severity evidence.Severity, p location, excerpt, explanation string) {
	if r.reported[p] {
		return
	}
	if r.reported[p] = true; len(r.reported) <= mostFindings {
		r.found = append(r.found, evidence.Finding{Rule: r.rule, Severity: severity, File: p.file, Line: p.line, Place: p.in, Excerpt: clip(excerpt), Explanation: explanation})
	}
}
