package bundle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// attemptAt is the record of an attempt at an address, made by a run with a content.
func attemptAt(run, content string) *cache.Record {
	return &cache.Record{
		Action: digest.ActionID(digest.Of([]byte("action"))), Kind: conditions.AttemptKind, Run: run,
		Fields:  []digest.Field{{Label: "agent.name", Value: `"mine"`}, {Label: "competition", Value: "c"}, {Label: "version", Value: "v1"}, {Label: "data", Value: "d"}},
		Outputs: cache.Outputs{"submission": {Ref: cache.Ref{Kind: cache.Blob, ID: digest.Of([]byte(content))}}},
	}
}

// begins writes the lines of an apply whose attempt ends with a status; "" is a kill.
func begins(t *testing.T, l *history.Store, rec *cache.Record, run, status string) {
	t.Helper()
	at := history.Mark("s")
	link := history.Link{Type: history.Began, Run: run, Step: at, Action: rec.Action, Try: 1}
	for _, name := range agentrun.Counted(rec.Fields) {
		link.Subjects = append(link.Subjects, history.Mark(name))
	}
	links := []history.Link{{Type: history.Declared, Run: run, Steps: []string{at}}, link}
	if link.Type, link.Status = history.Ended, status; status != "" {
		if status == history.StatusRan || status == history.StatusNotFinal {
			link.Result = engine.ResultID(rec.Outputs)
		}
		links = append(links, link)
	}
	for _, one := range links {
		if err := l.Extend(one); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTried counts the tries at an attempt by what a chain has of it.
func TestTried(t *testing.T) {
	resumed := attemptAt("b", "x")
	resumed.Resumes = 1
	twice := attemptAt("c", "x")
	twice.Resumes = 2
	left := attemptAt("b", "x")
	left.Outputs["stats"] = cache.Value{JSON: json.RawMessage(`{"resumed":true}`)}
	adopted := attemptAt("d", "x")
	adopted.Outputs["stats"] = cache.Value{JSON: json.RawMessage(`{"resumed":true,"adopted":3}`)}
	both := attemptAt("d", "x")
	both.Resumes, both.Outputs["stats"] = 1, cache.Value{JSON: json.RawMessage(`{"resumed":true,"adopted":2}`)}
	worker := attemptAt("a", "x")
	far := attemptAt("elsewhere", "x")
	far.Begun = 5
	for name, c := range map[string]struct {
		rec    *cache.Record
		runs   string // run and status of each apply; "gave it": ran, with the record's result
		latest string
		want   Tried
		gap    string
	}{
		"once":                    {rec: attemptAt("a", "x"), runs: "a ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"a kill before the end":   {rec: attemptAt("a", "x"), runs: "a ", latest: "a", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"cancelled, begun again":  {rec: attemptAt("b", "x"), runs: "a cancelled,b ran", want: Tried{Began: 2, Published: 1, Cancelled: 1, Keys: 1}},
		"killed, begun again":     {rec: attemptAt("b", "x"), runs: "a ,b ran", want: Tried{Began: 2, Published: 1, Unended: 1, Keys: 1}},
		"cancelled, went on":      {rec: resumed, runs: "a cancelled,b ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"killed, went on":         {rec: resumed, runs: "a ,b ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"left running":            {rec: left, runs: "a cancelled,b ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"went on twice":           {rec: twice, runs: "a cancelled,b ,c ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"left running thrice":     {rec: adopted, runs: "a ,b cancelled,c ,d ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"adopted, then went on":   {rec: both, runs: "a ,b ,c ,d ran", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"adopted, and one before": {rec: adopted, runs: "z ,a ,b ,c ,d ran", want: Tried{Began: 2, Published: 1, Unended: 1, Keys: 1}},
		"a worker's, adopted":     {rec: worker, runs: "a ,b ,c gave it", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"a worker's, one before":  {rec: worker, runs: "z ,a ,b ,c gave it", want: Tried{Began: 2, Published: 1, Unended: 1, Keys: 1}},
		"a worker's, found":       {rec: worker, runs: "a ,b ,c found", latest: "c", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"a worker's, one after":   {rec: worker, runs: "a ,b ", latest: "b", want: Tried{Began: 2, Published: 1, Unended: 1, Keys: 1}},
		"went on only once":       {rec: resumed, runs: "z cancelled,a cancelled,b ran", want: Tried{Began: 2, Published: 1, Cancelled: 1, Keys: 1}},
		"never over a result":     {rec: resumed, runs: "a ran,b ran", want: Tried{Began: 2, Published: 1, Unpublished: 1, Keys: 1}},
		"the provider failed":     {rec: attemptAt("b", "x"), runs: "a not_final,b ran", want: Tried{Began: 2, Published: 1, NotFinal: 1, Keys: 1}},
		"the machine failed":      {rec: attemptAt("b", "x"), runs: "a failed,b ran", want: Tried{Began: 2, Published: 1, Failed: 1, Keys: 1}},
		"a worker outlived it":    {rec: attemptAt("a", "x"), runs: "a cancelled,b found", latest: "b", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"of another cache":        {rec: attemptAt("elsewhere", "x"), runs: "a failed", gap: "another cache made it", want: Tried{Began: 2, Published: 1, Failed: 1, Elsewhere: 1, Keys: 1}},
		"its cache began five":    {rec: far, runs: "a failed", gap: "another cache made it", want: Tried{Began: 6, Published: 1, Failed: 1, Elsewhere: 5, Keys: 1}},
		"the run is not there":    {rec: attemptAt("a", "x"), runs: "a ran", latest: "b", gap: "does not have the run b", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"another process made it": {rec: attemptAt("a", "y"), runs: "a found", gap: "", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"an earlier run removed":  {rec: attemptAt("b", "x"), runs: "a ran,b ran,a removed", latest: "b", want: Tried{Began: 2, Published: 1, Unpublished: 1, Keys: 1}},
		"its own run removed":     {rec: attemptAt("a", "x"), runs: "a ran,a removed", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"one before the chain":    {rec: attemptAt("b", "x"), runs: "b ran,old removed", latest: "b", gap: "1 run was removed whose attempts the chain does not have", want: Tried{Began: 1, Published: 1, Keys: 1}},
		"no chain":                {rec: attemptAt("a", "x"), latest: "a", gap: "there is no chain", want: Tried{Began: 1, Published: 1, Elsewhere: 1}},
	} {
		l := history.New(t.TempDir())
		last := ""
		for one := range strings.SplitSeq(c.runs, ",") {
			if run, status, _ := strings.Cut(one, " "); run != "" {
				last = run
				if status == "removed" {
					if err := l.Extend(history.Link{Type: history.Removed, Run: run, Steps: []string{history.Mark("s")}}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				other := c.rec
				if status == history.StatusRan && run != c.rec.Run || status == history.StatusNotFinal {
					other = attemptAt(run, "another")
				}
				if status == "gave it" {
					status = history.StatusRan
				}
				begins(t, l, other, run, status)
			}
		}
		if c.latest != "" {
			last = c.latest
		}
		text, err := l.Chain()
		if err != nil {
			t.Fatal(err)
		}
		got, gap := CountTries(text, last, map[string]*cache.Record{"s": c.rec}).Tried("s")
		if (gap == "") != (c.gap == "") || !strings.Contains(gap, c.gap) {
			t.Errorf("%s: gap %q, want %q", name, gap, c.gap)
		}
		if got == nil {
			got = &Tried{}
		}
		c.want.Agent, c.want.Competition, c.want.Version, c.want.at, c.want.agent = got.Agent, got.Competition, got.Version, got.at, got.agent
		if *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
}

// TestChainIsOfTheRecords: lines of another agent or result are no account of an attempt.
func TestChainIsOfTheRecords(t *testing.T) {
	rec := attemptAt("a", "x")
	for name, other := range map[string]func(*cache.Record){
		"another result": func(r *cache.Record) { r.Outputs = attemptAt("a", "y").Outputs },
		"another agent":  func(r *cache.Record) { r.Fields[0].Value = `"other"` },
	} {
		l := history.New(t.TempDir())
		forged := attemptAt("a", "x")
		other(forged)
		begins(t, l, forged, "a", history.StatusRan)
		text, err := l.Chain()
		if err != nil {
			t.Fatal(err)
		}
		if _, gap := CountTries(text, "a", map[string]*cache.Record{"s": rec}).Tried("s"); !strings.HasPrefix(gap, "chain.jsonl: it ") {
			t.Errorf("%s: gap %q", name, gap)
		}
	}
}

// TestCommitment: a commitment is held only by a run that declared the same, and whose
// bundle has what was declared.
func TestCommitment(t *testing.T) {
	l, rec := history.New(t.TempDir()), attemptAt("b", "x")
	begins(t, l, attemptAt("a", "y"), "a", history.StatusCancelled)
	begins(t, l, rec, "b", history.StatusRan)
	text, err := l.Chain()
	if err != nil {
		t.Fatal(err)
	}
	links, err := history.ParseChain(text)
	if err != nil {
		t.Fatal(err)
	}
	c := CountTries(text, "b", map[string]*cache.Record{"s": rec})
	published := links[0].Commitment()
	if where, err := c.Commitment(published); err != nil || !strings.Contains(where, "run a") {
		t.Errorf("after an interruption: %q, %v", where, err)
	}
	if _, err := c.Commitment(links[1].ID); err != nil {
		t.Errorf("a line: %v", err)
	}
	c.own.Plan = digest.Of([]byte("other files"))
	if _, err := c.Commitment(published); err == nil || !strings.Contains(err.Error(), "other files, variables or attempts") {
		t.Errorf("another plan: %v", err)
	}
	c = CountTries(text, "b", map[string]*cache.Record{"s": rec})
	c.Differs = []string{"the bundle differs"}
	if _, err := c.Commitment(published); err == nil || !strings.Contains(err.Error(), "the bundle differs") {
		t.Errorf("a forged declaration: %v", err)
	}
}
