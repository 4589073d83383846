package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// chainFile has every attempt that the cache began; see history.Link.
const chainFile = "chain.jsonl"

// Chain is the account of a bundle's chain.
type Chain struct {
	// Lines is 0 if the bundle has no chain.
	Lines int       `json:"lines"`
	First time.Time `json:"first,omitzero"`
	// Root is the SHA-256 of the first line, by which the chains of a cache are known, and
	// Head that of the last one.
	Root   digest.ContentID `json:"root,omitzero"`
	Head   digest.ContentID `json:"head,omitzero"`
	Agents []Tried          `json:"agents"`
	// Gaps are the reasons why the chain does not count the tries of attempts.
	Gaps []string `json:"gaps"`
	// Differs are the differences between what the run declared and the bundle.
	Differs []string `json:"differs,omitempty"`
	// Unpublished are the runs with a final result of the same agents at the same
	// competitions that is not in the bundle, and how many each has.
	Unpublished map[string]int `json:"unpublished_runs,omitempty"`
	// Removed is the number of runs that were removed from the run history and whose
	// attempts count.
	Removed int `json:"removed_runs,omitempty"`

	links []history.Link
	own   *history.Link
	// agents has the mark of the agent of each attempt, and gaps its gap, by address.
	agents, gaps map[string]string
}

// Tried returns the account of an attempt's agent, nil if there is none, and the reason
// why the chain does not count its tries, empty if it does.
func (c *Chain) Tried(address string) (*Tried, string) {
	if c == nil {
		return nil, ""
	}
	for i := range c.Agents {
		if c.Agents[i].agent == c.agents[address] {
			return &c.Agents[i], c.gaps[address]
		}
	}
	return nil, c.gaps[address]
}

// gap says of attempts that the chain does not count their tries.
func (c *Chain) gap(why string, addresses ...string) {
	if len(addresses) == 0 {
		return
	}
	for _, a := range addresses {
		c.gaps[a] = why
	}
	c.Gaps = append(c.Gaps, fmt.Sprintf("tries not provable: %d of %s, such as %s: %s", len(addresses), view.Plural(len(c.agents), "attempt"), addresses[0], why))
}

// Tried counts the attempts of an agent at a competition that a cache began.
type Tried struct {
	Agent       string `json:"agent"`
	Competition string `json:"competition"`
	Version     string `json:"version"`
	Began       int    `json:"began"`
	// Published attempts are in the bundle. Unpublished ones have a result, too, and those
	// of NotFinal one that the environment ended.
	Published   int `json:"published"`
	Unpublished int `json:"unpublished"`
	NotFinal    int `json:"not_final,omitempty"`
	Failed      int `json:"failed"`
	Cancelled   int `json:"cancelled"`
	// Unended attempts were killed.
	Unended int `json:"unended"`
	// Steered attempts were stopped, extended, cancelled or requeued by a person.
	Steered int `json:"steered,omitempty"`
	// Elsewhere of these began in other caches, as the records of attempts from there say.
	Elsewhere int `json:"elsewhere,omitempty"`
	// Keys is the number of different keys. The files of an agent, its seed and its
	// limits are in the key.
	Keys int `json:"keys"`
	// Beside are attempts at the competition by other agents, with other data, or as forks.
	Beside int `json:"beside"`

	at, agent string
}

// ThrownAway is the number of attempts that began and are not published.
func (t Tried) ThrownAway() int { return t.Began - t.Published }

// String is the account in a sentence.
func (t Tried) String() string {
	by, verb := "this cache", "are"
	if t.Elsewhere > 0 {
		by = "caches"
	}
	if t.Published == 1 {
		verb = "is"
	}
	text := fmt.Sprintf("%s at %s %s: %d of %s that %s began %s published", t.Agent, t.Competition, t.Version, t.Published, view.Plural(t.Began, "attempt"), by, verb)
	for _, n := range []struct {
		n    int
		what string
	}{
		{t.Unpublished, "%d with another result"}, {t.NotFinal, "%d ended by the environment"}, {t.Failed, "%d failed"}, {t.Cancelled, "%d cancelled"}, {t.Unended, "%d without an end"}, {t.Steered, "%d steered by hand"},
		{t.Elsewhere, "%d by the word of the records only"}, {t.Keys, "%d different keys"}, {t.Beside, "%d at the competition by other agents, with other data or as forks"},
	} {
		if n.n > 0 {
			text += ", " + fmt.Sprintf(n.what, n.n)
		}
	}
	return text
}

// chain adds the chain of the cache.
func (c *collector) chain() error {
	text, err := c.src.History.Chain()
	if err != nil || len(text) == 0 {
		return err
	}
	sources, err := c.src.Past.Sources()
	if err != nil {
		return err
	}
	x := &Examined{Sources: sources, account: c.account}
	if err := x.readChain(text); err != nil {
		return fmt.Errorf("bundle run %s: %w; to begin a new chain, move chain.jsonl out of the cache: bundles then show when it began", c.sum.ID, err)
	}
	c.counted = x.Chain.Agents
	c.add(chainFile, text)
	return nil
}

// checkChain checks the links of the chain and compares them with the records.
func (x *Examined) checkChain(b *Bundle) error {
	if b.Has(chainFile) {
		text, err := b.Read(chainFile)
		if err != nil {
			return err
		}
		return x.readChain(text)
	}
	if c := newChain(x.records); len(c.agents) > 0 {
		c.without(x.records)
		x.Chain = c
	}
	return nil
}

// noChain is the gap of all attempts without a chain.
const noChain = "there is no chain, so nothing shows how many attempts were begun and thrown away"

// none says that the chain counts the tries of no attempt.
func (c *Chain) none(why string) { c.gap(why, slices.Sorted(maps.Keys(c.agents))...) }

// without counts attempts without a chain, by the word of their records.
func (c *Chain) without(records []record) {
	c.none(noChain)
	c.countAll(records, &walk{})
}

// countAll adds the accounts of all agents.
func (c *Chain) countAll(records []record, w *walk) {
	for _, r := range records {
		if r.Kind == conditions.AttemptKind {
			c.count(r, w, records)
		}
	}
	slices.SortFunc(c.Agents, func(a, b Tried) int { return strings.Compare(a.String(), b.String()) })
}

func newChain(records []record) *Chain {
	c := &Chain{Agents: []Tried{}, Gaps: []string{}, Unpublished: map[string]int{}, agents: map[string]string{}, gaps: map[string]string{}}
	for _, r := range records {
		if r.Kind == conditions.AttemptKind {
			c.agents[r.Address] = history.Mark(agentrun.Counted(r.Fields)[1])
		}
	}
	return c
}

func (x *Examined) readChain(text []byte) error {
	x.Chain = newChain(x.records)
	if err := x.Chain.compare(text, x.Run.ID, x.records); err != nil || x.Chain.own == nil {
		return err
	}
	if x.Chain.own.Text != x.Run.Text {
		return damage(chainFile, "it declares another pipeline for run %s", x.Run.ID)
	}
	x.Chain.declared(x)
	return nil
}

// CountTries finds the attempts of a run, by address, in the chain of a cache.
func CountTries(text []byte, run string, attempts map[string]*cache.Record) *Chain {
	records := lists.OfMap(attempts, bareRecord)
	slices.SortFunc(records, func(a, b record) int { return compareAddresses(a.Address, b.Address) })
	c := newChain(records)
	if len(text) == 0 {
		c.without(records)
	} else if err := c.compare(text, run, records); err != nil {
		c.none(err.Error())
	}
	return c
}

// compare follows the links, and finds the attempts of a run among them.
func (c *Chain) compare(text []byte, run string, records []record) error {
	links, err := history.ParseChain(text)
	if err == nil && len(links) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return damage(chainFile, "%w", err)
	}
	c.Lines, c.First, c.Root, c.Head, c.links = len(links), links[0].Time, links[0].ID, links[len(links)-1].ID, links
	w := walk{declared: map[string]*history.Link{}, begun: map[string]*tried{}, found: map[string]bool{}, removed: map[string]bool{}}
	for i := range c.links {
		if err := w.follow(&c.links[i]); err != nil {
			return damage(chainFile, "line %d %w", i+1, err)
		}
	}
	if c.own = w.declared[run]; c.own == nil {
		c.none("the chain does not have the run " + run)
	}
	c.Removed = len(w.removed) - w.lost
	if w.lost > 0 {
		c.none(view.Verb(w.lost, "run", "was", "were") + " removed whose attempts the chain does not have")
	}
	var strange, lacking []string
	subjects := map[string]bool{}
	for _, r := range records {
		if r.Kind != conditions.AttemptKind {
			continue
		}
		switch t := w.find(r); {
		case t == nil && w.declared[r.Run] == nil:
			strange = append(strange, r.Address)
		case t == nil:
			lacking = append(lacking, r.Address)
		case t.made() && t.end.Result != engine.ResultID(r.outputs()):
			return damage(chainFile, "it has another result for %s", r.Address)
		case t.made() && t.end.Steered != r.Steered:
			return damage(chainFile, "it has %q as how people steered %s, and its record %q", t.end.Steered, r.Address, r.Steered)
		case len(r.Masked) == 0 && !t.tries(r):
			return damage(chainFile, "it says that %s tried another agent or competition", r.Address)
		default:
			t.published, w.found[r.Address] = true, true
			subjects[t.subject()] = true
			w.went(t, r)
		}
	}
	if c.own != nil {
		c.gap("another cache made it, or this one before its chain began; bundle the run there, where the chain counts its tries", strange...)
		c.gap("the chain lacks it, although it has the run that made it", lacking...)
	}
	c.countAll(records, &w)
	for _, t := range w.tried {
		if t.made() && t.end.Status == history.StatusRan && !t.published && t.subject() != "" && subjects[t.subject()] {
			c.Unpublished[t.began.Run]++
		}
	}
	return nil
}

// Links are the lines of the chain.
func (c *Chain) Links() []history.Link {
	if c == nil {
		return nil
	}
	return c.links
}

// declared compares the declaration of the bundle's run with what the bundle has.
func (c *Chain) declared(x *Examined) {
	o := history.Opening{Info: history.Info{Pipeline: x.Run.Pipeline, Variables: x.Run.Variables}, Sources: x.Sources}
	if again := o.Declaration(); again.Plan != c.own.Plan {
		c.Differs = append(c.Differs, "the run declared other variables or files than the bundle has, or folders in its variables are masked")
	}
	absent, more := len(c.own.Steps), 0
	for _, r := range x.records {
		if _, found := slices.BinarySearch(c.own.Steps, history.Mark(r.Address)); found {
			absent--
		} else if r.Kind == conditions.AttemptKind {
			more++
		}
	}
	if x.Summary != nil {
		for _, s := range x.Summary.Steps { // the audit repeats the evaluation that did not need it
			if _, found := slices.BinarySearch(c.own.Steps, history.Mark(s.Address)); found && s.Status == event.Unneeded {
				absent--
			}
		}
	}
	if absent > 0 {
		c.Differs = append(c.Differs, fmt.Sprintf("%d of %s that the run declared are not in the bundle", absent, view.Plural(len(c.own.Steps), "attempt")))
	}
	if more > 0 {
		c.Differs = append(c.Differs, fmt.Sprintf("%s of the bundle were not declared by the run", view.Plural(more, "attempt")))
	}
}

// lacks compares the chain with the earlier runs that the run history remembers.
func (c *Chain) lacks(earlier []EarlierRun) {
	n := len(lists.Where(earlier, func(run EarlierRun) bool {
		return run.Attempts > 0 && !slices.ContainsFunc(c.links, func(l history.Link) bool { return l.Run == run.Run })
	}))
	if n > 0 {
		c.none(fmt.Sprintf("%s with attempts are not in the chain, which begins at %s", view.Plural(n, "earlier run"), c.First.Format(time.DateTime)))
	}
}

// tried is an attempt in the chain.
type tried struct {
	began, end *history.Link
	published  bool
	// went means that a later one went on with it; both are one attempt.
	went bool
}

// made reports whether it gave a result, which may not be final.
func (t *tried) made() bool {
	return t.end != nil && (t.end.Status == history.StatusRan || t.end.Status == history.StatusNotFinal)
}

// found reports whether it ended with a result that another one had made.
func (t *tried) found() bool { return t.end != nil && t.end.Status == history.StatusFound }

// subject is the mark of the agent itself, whatever its name; empty in older chains.
func (t *tried) subject() string {
	if len(t.began.Subjects) > 2 {
		return t.began.Subjects[2]
	}
	return ""
}

// tries reports whether a record is of what was tried.
func (t *tried) tries(r record) bool {
	for i, name := range agentrun.Counted(r.Fields) {
		if i < len(t.began.Subjects) && t.began.Subjects[i] != history.Mark(name) {
			return false
		}
	}
	return true
}

// walk follows a chain.
type walk struct {
	declared map[string]*history.Link
	begun    map[string]*tried
	tried    []*tried
	// found has the addresses of attempts that are there, and removed the removed runs. Lost
	// are those of them with attempts that the chain does not have.
	found, removed map[string]bool
	lost           int
}

func (w *walk) follow(l *history.Link) error {
	key := l.Run + " " + l.Step
	run := w.declared[l.Run]
	switch {
	case l.Type == history.Declared && run != nil:
		return fmt.Errorf("declares run %s again", l.Run)
	case l.Type == history.Declared:
		w.declared[l.Run] = l
		return nil
	case l.Type == history.Removed:
		if run == nil && len(l.Steps) > 0 && !w.removed[l.Run] {
			w.lost++
		}
		w.removed[l.Run] = true
		return nil
	case run == nil || !slices.Contains(run.Steps, l.Step):
		return fmt.Errorf("is about an attempt that run %s did not declare", l.Run)
	case l.Type == history.Began && len(l.Subjects) < 2: // that of older versions has two
		return fmt.Errorf("does not say what was tried")
	case l.Type == history.Began:
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

// find returns the attempt that made a record: the last one with its result or, if nothing
// was there to see the end, such as after a kill, the one that began in the record's run.
func (w *walk) find(r record) (open *tried) {
	result := engine.ResultID(r.outputs())
	for _, t := range slices.Backward(w.tried) {
		switch {
		case t.began.Action.String() != r.Action:
		case t.made() && (t.end.Result == result || t.began.Run == r.Run):
			return t
		case !t.made() && open == nil && t.began.Run == r.Run:
			open = t
		}
	}
	return open
}

// went marks what a published attempt went on with: as many beginnings without a result
// before it as its record says, and those since the run whose worker made it.
func (w *walk) went(t *tried, r record) {
	var stats agentrun.Stats
	_ = json.Unmarshal(r.Outputs["stats"].Value, &stats)
	n := r.Resumes + stats.Adopted
	if stats.Resumed && stats.Adopted == 0 { // an older version did not count
		n++
	}
	same := lists.Where(w.tried, func(one *tried) bool { return one.began.Action == t.began.Action })
	at := slices.Index(same, t)
	for i, one := range slices.Backward(same[:at+1]) {
		if one.began.Run == r.Run { // its worker, which later runs adopted
			n += at - i
			break
		}
	}
	if found := slices.IndexFunc(same[at:], func(one *tried) bool { return one.found() }); found > 0 {
		for _, later := range same[at+1 : at+found] {
			later.went = later.went || later.end == nil && later.began.Why == ""
		}
	}
	for _, before := range slices.Backward(same[:at]) {
		if n == 0 || before.made() {
			return
		}
		before.went, n = true, n-1
	}
}

// count adds the account of a record's agent, once.
func (c *Chain) count(r record, w *walk, records []record) {
	names := agentrun.Counted(r.Fields)
	t := Tried{Agent: agentOf(r).Name, Competition: r.field("competition"), Version: r.field("version"), at: history.Mark(names[0]), agent: history.Mark(names[1])}
	if slices.ContainsFunc(c.Agents, func(other Tried) bool { return other.agent == t.agent }) {
		return
	}
	keys := map[digest.ActionID]bool{}
	ended := map[string]*int{
		history.StatusRan: &t.Unpublished, history.StatusNotFinal: &t.NotFinal, history.StatusFailed: &t.Failed, history.StatusCancelled: &t.Cancelled,
	}
	for _, one := range w.tried {
		if one.end != nil && one.end.Steered != "" && one.began.Subjects[1] == t.agent {
			t.Steered++
		}
		switch {
		case one.began.Subjects[0] != t.at || one.went || one.found() && !one.published:
			continue
		case one.began.Subjects[1] != t.agent:
			t.Beside++
			continue
		}
		keys[one.began.Action] = true
		t.Began++
		switch end := ended[cmp.Or(one.end, &history.Link{}).Status]; {
		case one.published:
			t.Published++
		case end != nil:
			*end++
		default:
			t.Unended++
		}
	}
	strange := 0
	for _, other := range records {
		if !w.found[other.Address] && c.agents[other.Address] == t.agent {
			strange, t.Elsewhere = strange+1, max(t.Elsewhere, other.Begun, strange+1)
			if other.Steered != "" {
				t.Steered++
			}
		}
	}
	t.Began, t.Published = t.Began+t.Elsewhere, t.Published+strange
	t.Keys = len(keys)
	c.Agents = append(c.Agents, t)
}

// Commitment says where the chain has a digest that was published before: as the
// declaration of a run, which must be that of the bundle or one of the same pipeline,
// files, variables and attempts, or as a line.
func (c *Chain) Commitment(id digest.ContentID) (string, error) {
	for i := range c.links {
		l := &c.links[i]
		if l.ID == id {
			return fmt.Sprintf("line %d of the chain, the last one at that time", i+1), nil
		}
		if l.Type != history.Declared || l.Commitment() != id {
			continue
		}
		var differs []string
		if c.own == nil {
			differs = append(differs, "the chain does not have the bundle's run")
		} else if l.Text != c.own.Text || l.Plan != c.own.Plan || !slices.Equal(l.Steps, c.own.Steps) {
			differs = append(differs, fmt.Sprintf("it is that of run %s, which declared another pipeline, other files, variables or attempts than the bundle's run", l.Run))
		}
		if differs = append(differs, c.Differs...); len(differs) > 0 {
			return "", fmt.Errorf("the commitment is not held: %s", strings.Join(differs, "; "))
		}
		return fmt.Sprintf("line %d of the chain, which declares run %s", i+1, l.Run), nil
	}
	return "", fmt.Errorf("no line of its chain is the commitment sha256:%s", id)
}
