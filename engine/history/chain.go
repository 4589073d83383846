package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/engine/plan"
)

// LinkType is the kind of a link.
type LinkType string

// The types of links.
const (
	// Declared: a run began. Its counted steps are listed before any of them
	// starts.
	Declared LinkType = "declared"
	// Began: an attempt at a counted step began.
	Began LinkType = "began"
	// Ended: an attempt ended.
	Ended LinkType = "ended"
	// Removed: a person removed the run from the history. Its other links stay.
	Removed LinkType = "removed"
)

// The statuses of an Ended link.
const (
	StatusRan = "ran"
	// StatusNotFinal: the environment ended it, and the next run repeats it.
	StatusNotFinal  = "not_final"
	StatusFailed    = "failed"
	StatusCancelled = "cancelled"
	// StatusFound: another process had made the result in the meantime.
	StatusFound = "found"
)

// Link is a line of the chain. It names steps, agents and competitions by
// digest only.
type Link struct {
	// Prev is the SHA-256 of the line before, or zero in the first.
	Prev digest.ContentID `json:"prev"`
	Time time.Time        `json:"time"`
	Type LinkType         `json:"type"`
	Run  string           `json:"run"`

	// Text is the digest of the pipeline's text, and Plan that of its files and
	// variables. Steps are the Marks of the counted steps, or of those that a Removed
	// run began.
	Text  digest.ContentID `json:"text,omitzero"`
	Plan  digest.ContentID `json:"plan,omitzero"`
	Steps []string         `json:"steps,omitempty"`
	// Evaluation is the rule of the pipeline's evaluation, or nil without one.
	Evaluation *Rule `json:"evaluation,omitempty"`

	// Step is the Mark of the step of any other type of link. Subjects are the Marks of
	// what is tried, from the general to the specific.
	Step     string          `json:"step,omitempty"`
	Subjects []string        `json:"subjects,omitempty"`
	Action   digest.ActionID `json:"action,omitzero"`
	// Try counts an apply's tries at the step from 1. Why says why an
	// earlier result was not used: "forced" or "retried".
	Try int    `json:"attempt,omitempty"`
	Why string `json:"why,omitempty"`
	// Result is the digest of what the attempt gave.
	Status string           `json:"status,omitempty"`
	Result digest.ContentID `json:"result,omitzero"`
	// Steered is how people steered the attempt, as its record says, or the act by which
	// they ended one without a result.
	Steered string `json:"steered,omitempty"`
	// By is the number of the user who removed the run, on the machine of the cache.
	By string `json:"by,omitempty"`

	// ID is the SHA-256 of the line.
	ID digest.ContentID `json:"-"`
}

// Mark is the form of a name in a link.
func Mark(name string) string { return digest.Of([]byte(name)).String()[:32] }

// Commitment of a Declared link depends on what is declared and on all lines
// before it, but not on the time and the run. It can be published before the
// run.
func (l *Link) Commitment() digest.ContentID {
	h := digest.NewHasher("commitment", "1")
	h.Content("prev", l.Prev)
	h.Content("text", l.Text)
	h.Content("plan", l.Plan)
	h.String("steps", strings.Join(l.Steps, " "))
	return digest.ContentID(h.Sum())
}

// Declaration returns the Declared link of a run, without run and time.
func (o *Opening) Declaration() Link {
	l := Link{Type: Declared, Steps: lists.Of(o.Counted, Mark)}
	slices.Sort(l.Steps)
	h := digest.NewHasher("declaration", "1")
	for _, name := range slices.Sorted(maps.Keys(o.Info.Variables)) {
		h.String("variable "+name, string(o.Info.Variables[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Sources)) {
		id := digest.Of(o.Secrets.Bytes(o.Sources[name]))
		if h.Content("file "+name, id); name == filepath.Base(o.Info.Pipeline) {
			l.Text = id
		}
	}
	l.Plan = digest.ContentID(h.Sum())
	if o.Plan != nil && o.Plan.Evaluation != nil {
		l.Evaluation = &Rule{o.Plan.Evaluation.Rule, o.Plan.Evaluation.Budget}
	}
	return l
}

// subject is the mark of the agent with its name at its competition.
func (l *Link) subject() string {
	if len(l.Subjects) < 2 {
		return ""
	}
	return l.Subjects[1]
}

func (l *Link) encode() ([]byte, error) {
	line, err := json.Marshal(l)
	return append(line, '\n'), err
}

// ParseChain reads a chain and checks each link.
func ParseChain(text []byte) ([]Link, error) {
	var list []Link
	var prev digest.ContentID
	for line := range bytes.Lines(text) {
		l := Link{ID: digest.Of(line)}
		n := len(list) + 1
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("line %d of the chain is damaged: %w", n, err)
		}
		if again, err := l.encode(); err != nil || !bytes.Equal(again, line) {
			return nil, fmt.Errorf("line %d of the chain is damaged: mleflow would write it differently", n)
		}
		if l.Prev != prev {
			return nil, fmt.Errorf("line %d of the chain does not follow from line %d: a line was changed, removed, added or moved", n, n-1)
		}
		if prev = l.ID; !slices.Contains([]LinkType{Declared, Began, Ended, Removed}, l.Type) {
			return nil, fmt.Errorf("line %d of the chain has the unknown type %.40q", n, l.Type)
		}
		list = append(list, l)
	}
	return list, nil
}

func (l *Store) chain() string { return filepath.Join(l.dir, "chain.jsonl") }

// Chain returns the text of the chain without an incomplete last line. It is
// empty if there is no chain.
func (l *Store) Chain() ([]byte, error) {
	text, err := nolink.ReadFile(l.chain())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read chain: %w", err)
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], nil
}

// Begun returns how many attempts at a subject the chain has.
func (l *Store) Begun(subject string) (n int, err error) {
	text, err := l.Chain()
	mark := []byte(`"` + Mark(subject) + `"`)
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(`"type":"began"`)) && bytes.Contains(line, mark) {
			n++
		}
	}
	return n, err
}

// Head returns the SHA-256 of the chain's last line, or zero if there is none.
func (l *Store) Head() (head digest.ContentID, err error) {
	f, err := nolink.Open(l.chain())
	if errors.Is(err, fs.ErrNotExist) {
		return head, nil
	}
	if err == nil {
		defer f.Close()
		head, _, err = chainEnd(f)
	}
	if err != nil {
		err = fmt.Errorf("read chain: %w", err)
	}
	return head, err
}

// Extend appends a link. It is on disk when Extend returns. Prev and Time are
// filled in.
func (l *Store) Extend(link Link) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("extend chain: %w", err)
		}
	}()
	if err := nolink.MkdirAll(l.dir, 0o777); err != nil {
		return err
	}
	f, err := nolink.OpenFile(l.chain(), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := flock.Lock(f); err != nil {
		return err
	}
	first := []byte{'{'} // also of an empty file
	if _, _ = f.ReadAt(first, 0); first[0] != '{' {
		return fmt.Errorf("%s is damaged: restore it, or move it out of the cache to begin a new one; bundles then show when it began", f.Name())
	}
	var end int64
	if link.Prev, end, err = chainEnd(f); err != nil {
		return err
	}
	link.Time = time.Now().UTC().Round(0)
	line, err := link.encode()
	if err != nil {
		return err
	}
	// A process that was killed may have left a part of a line.
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.WriteAt(line, end); err != nil {
		return err
	}
	return f.Sync()
}

// chainEnd returns the digest of the last complete line and the offset of its
// end. It reads backwards, because chains are long.
func chainEnd(f *os.File) (id digest.ContentID, end int64, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return id, 0, err
	}
	for span := int64(4 << 10); ; span *= 4 {
		from := max(0, size-span)
		tail := make([]byte, size-from)
		if _, err := f.ReadAt(tail, from); err != nil {
			return id, 0, err
		}
		stop := bytes.LastIndexByte(tail, '\n') + 1
		if stop == 0 && from == 0 {
			return id, 0, nil
		}
		start := bytes.LastIndexByte(tail[:max(0, stop-1)], '\n') + 1
		if start > 0 || from == 0 {
			return digest.Of(tail[start:stop]), from + int64(stop), nil
		}
	}
}

// Rule is what a Declared link says of an evaluation.
type Rule struct {
	ID     string `json:"id"`
	Budget int    `json:"budget"`
}

// Evaluated compares the attempts of an evaluation with the links up to the
// declaration of a run, and with the run's own. An empty run is one that comes
// next. Each attempt has an Action and Subjects.
//
// An attempt belongs to an evaluation if every run that began it had declared
// the evaluation's rule. So neither a rule that is declared after an attempt nor
// one of several that were declared before is taken for the one that chose it.
func Evaluated(links []Link, run, rule string, attempts []Link) (d plan.Declared) {
	type trace struct{ begun, outside, repeated bool }
	traces, subjects := map[digest.ActionID]*trace{}, map[string]bool{}
	for _, a := range attempts {
		traces[a.Action] = &trace{}
		subjects[a.subject()] = true
	}
	rules, unused, own := map[string]bool{}, map[digest.ActionID]bool{}, false
	for _, l := range links {
		own = own || l.Type == Declared && l.Run == run
		switch t := traces[l.Action]; {
		case own && l.Run != run:
		case l.Type == Declared && l.Evaluation != nil && l.Evaluation.ID == rule:
			if rules[l.Run] = true; d.FirstBudget == 0 {
				d.FirstBudget = l.Evaluation.Budget
			}
		case l.Type != Began:
		case t != nil:
			t.begun, t.outside, t.repeated = true, t.outside || !rules[l.Run], t.repeated || l.Why != ""
		case !own && rules[l.Run] && subjects[l.subject()]:
			unused[l.Action] = true
		}
	}
	for _, a := range attempts {
		switch t := traces[a.Action]; {
		case !t.begun:
			d.Unknown++
		case t.outside:
			d.Outside++
		case t.repeated:
			d.Repeated++
		}
	}
	d.Unused = len(unused)
	return d
}
