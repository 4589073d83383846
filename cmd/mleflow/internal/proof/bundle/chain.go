package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// chainFile has every attempt that the cache began; see ledger.Link.
const chainFile = "chain.jsonl"

// Chain is the account of a bundle's chain.
type Chain struct {
	Lines int       `json:"lines"`
	First time.Time `json:"first"`
	// Head is the SHA-256 of the last line.
	Head   digest.ContentID `json:"head"`
	Agents []Tried          `json:"agents"`
	// Gaps are attempts and runs of the bundle that the chain lacks.
	Gaps []string `json:"gaps"`

	links []ledger.Link
}

// Tried counts the attempts of an agent at a competition that a cache began.
type Tried struct {
	Agent       string `json:"agent"`
	Competition string `json:"competition"`
	Version     string `json:"version"`
	Began       int    `json:"began"`
	// Published attempts are in the bundle. Unpublished ones have a result, too.
	Published   int `json:"published"`
	Unpublished int `json:"unpublished"`
	Failed      int `json:"failed"`
	Cancelled   int `json:"cancelled"`
	// Unended attempts were killed, or a later run continued them.
	Unended int `json:"unended"`
	// Keys is the number of different keys. The files of an agent, its seed and its
	// limits are in the key.
	Keys int `json:"keys"`
	// Beside are attempts at the competition by other agents, or with other data.
	Beside int `json:"beside"`

	at, agent string
}

// String is the account in a sentence.
func (t Tried) String() string {
	text := fmt.Sprintf("%s at %s %s: %d of %s that this cache began %s published", t.Agent, t.Competition, t.Version, t.Published, view.Plural(t.Began, "attempt"), map[bool]string{true: "is", false: "are"}[t.Published == 1])
	for _, n := range []struct {
		n    int
		what string
	}{
		{t.Unpublished, "%d with another result"}, {t.Failed, "%d failed"}, {t.Cancelled, "%d cancelled"}, {t.Unended, "%d without an end"},
		{t.Keys, "%d different keys"}, {t.Beside, "%d at the competition by other agents or with other data"},
	} {
		if n.n > 0 {
			text += ", " + fmt.Sprintf(n.what, n.n)
		}
	}
	return text
}

// chain adds the chain of the cache.
func (c *collector) chain() error {
	text, err := c.src.Ledger.Chain()
	if err != nil || len(text) == 0 {
		return err
	}
	sources, err := c.src.Past.Sources()
	if err != nil {
		return err
	}
	x := &Examined{Run: c.run, Sources: sources}
	if err := x.readChain(text, c.records); err != nil {
		return fmt.Errorf("bundle run %s: %w; to begin a new chain, move chain.jsonl out of the cache: bundles then show when it began", c.sum.ID, err)
	}
	c.counted = x.Chain.Agents
	c.add(chainFile, text)
	return nil
}

// checkChain checks the links of the chain and compares them with the records.
func (x *Examined) checkChain(b *Bundle, records []record) error {
	if !b.Has(chainFile) {
		return nil
	}
	text, err := b.Read(chainFile)
	if err != nil {
		return err
	}
	return x.readChain(text, records)
}

func (x *Examined) readChain(text []byte, records []record) error {
	links, err := ledger.ParseChain(text)
	if err == nil && len(links) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return damage(chainFile, "%w", err)
	}
	x.Chain = &Chain{Lines: len(links), First: links[0].Time, Head: links[len(links)-1].ID, Agents: []Tried{}, Gaps: []string{}, links: links}
	return x.Chain.compare(x, records)
}

// compare follows the links, and finds the bundle's attempts among them.
func (c *Chain) compare(x *Examined, records []record) error {
	w := walk{declared: map[string]*ledger.Link{}, begun: map[string]*tried{}}
	for i := range c.links {
		if err := w.follow(&c.links[i]); err != nil {
			return damage(chainFile, "line %d %w", i+1, err)
		}
	}
	switch own := w.declared[x.Run.ID]; {
	case own == nil:
		c.Gaps = append(c.Gaps, "the chain does not have the run "+x.Run.ID)
	case own.Text != x.Run.Text:
		return damage(chainFile, "it declares another pipeline for run %s", x.Run.ID)
	default:
		c.declared(x, own, records)
	}
	for _, r := range records {
		if r.Kind != kindAgentRun {
			continue
		}
		t := w.find(r)
		switch {
		case t == nil:
			c.Gaps = append(c.Gaps, fmt.Sprintf("%s: the chain lacks this attempt, which run %s made", r.Address, r.Run))
		case t.end.Result != engine.ResultID(r.outputs()):
			return damage(chainFile, "it has another result for %s", r.Address)
		default:
			t.published = true
		}
	}
	for _, r := range records {
		if r.Kind == kindAgentRun {
			c.count(r, w.tried)
		}
	}
	slices.SortFunc(c.Agents, func(a, b Tried) int { return strings.Compare(a.String(), b.String()) })
	return nil
}

// declared compares the declaration of the bundle's run with what the bundle has.
func (c *Chain) declared(x *Examined, own *ledger.Link, records []record) {
	o := ledger.Opening{Info: ledger.Info{Pipeline: x.Run.Pipeline, Variables: x.Run.Variables}, Sources: x.Sources}
	if again := o.Declaration(); again.Plan != own.Plan {
		c.Gaps = append(c.Gaps, "the run declared other variables or files than the bundle has, or folders in its variables are masked")
	}
	absent := len(own.Steps)
	for _, r := range records {
		if _, found := slices.BinarySearch(own.Steps, ledger.Mark(r.Address)); found {
			absent--
		}
	}
	if absent > 0 {
		c.Gaps = append(c.Gaps, fmt.Sprintf("%d of %s that the run declared are not in the bundle", absent, view.Plural(len(own.Steps), "attempt")))
	}
}

// lacks compares the chain with the earlier runs that the ledger remembers.
func (c *Chain) lacks(earlier []EarlierRun) {
	n := 0
	for _, run := range earlier {
		if run.Attempts > 0 && !slices.ContainsFunc(c.links, func(l ledger.Link) bool { return l.Run == run.Run }) {
			n++
		}
	}
	if n > 0 {
		c.Gaps = append(c.Gaps, fmt.Sprintf("%s with attempts are not in the chain, which begins at %s", view.Plural(n, "earlier run"), c.First.Format(time.DateTime)))
	}
}

// tried is an attempt in the chain.
type tried struct {
	began, end *ledger.Link
	published  bool
}

// walk follows a chain.
type walk struct {
	declared map[string]*ledger.Link
	begun    map[string]*tried
	tried    []*tried
}

func (w *walk) follow(l *ledger.Link) error {
	key := l.Run + " " + l.Step
	run := w.declared[l.Run]
	switch {
	case l.Type == ledger.Declared && run != nil:
		return fmt.Errorf("declares run %s again", l.Run)
	case l.Type == ledger.Declared:
		w.declared[l.Run] = l
		return nil
	case run == nil || !slices.Contains(run.Steps, l.Step):
		return fmt.Errorf("is about an attempt that run %s did not declare", l.Run)
	case l.Type == ledger.Began && len(l.Subjects) != 2:
		return fmt.Errorf("does not say what was tried")
	case l.Type == ledger.Began:
		w.begun[key] = &tried{began: l}
		w.tried = append(w.tried, w.begun[key])
		return nil
	}
	t := w.begun[key]
	if t == nil || t.end != nil || t.began.Action != l.Action || !slices.Equal(t.began.Subjects, l.Subjects) {
		return fmt.Errorf("ends an attempt that did not begin")
	}
	t.end = l
	return nil
}

// find returns the attempt that made a record.
func (w *walk) find(r record) *tried {
	for _, t := range slices.Backward(w.tried) {
		if t.end != nil && t.end.Status == ledger.StatusRan && t.began.Run == r.Run && t.began.Action.String() == r.Action {
			return t
		}
	}
	return nil
}

// count adds the account of a record's agent, once.
func (c *Chain) count(r record, all []*tried) {
	names := agentrun.Counted(r.field)
	t := Tried{Agent: agentOf(r).Name, Competition: r.field("competition"), Version: r.field("version"), at: ledger.Mark(names[0]), agent: ledger.Mark(names[1])}
	if slices.ContainsFunc(c.Agents, func(other Tried) bool { return other.agent == t.agent }) {
		return
	}
	keys := map[digest.ActionID]bool{}
	for _, one := range all {
		switch {
		case one.began.Subjects[0] != t.at || one.end != nil && one.end.Status == ledger.StatusFound:
			continue
		case one.began.Subjects[1] != t.agent:
			t.Beside++
			continue
		}
		keys[one.began.Action] = true
		t.Began++
		switch status := cmp.Or(one.end, &ledger.Link{}).Status; {
		case one.published:
			t.Published++
		case status == ledger.StatusRan:
			t.Unpublished++
		case status == ledger.StatusFailed:
			t.Failed++
		case status == ledger.StatusCancelled:
			t.Cancelled++
		default:
			t.Unended++
		}
	}
	t.Keys = len(keys)
	c.Agents = append(c.Agents, t)
}

// Commitment says where the chain has a digest that was published before: as the
// declaration of a run or as a line.
func (c *Chain) Commitment(id digest.ContentID) (string, error) {
	for i := range c.links {
		l := &c.links[i]
		if l.Type == ledger.Declared && l.Commitment() == id {
			return fmt.Sprintf("line %d of the chain, which declares run %s", i+1, l.Run), nil
		}
		if l.ID == id {
			return fmt.Sprintf("line %d of the chain, the last one at that time", i+1), nil
		}
	}
	return "", fmt.Errorf("no line of its chain is the commitment sha256:%s", id)
}
