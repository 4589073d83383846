package all_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/all"
	"github.com/mleflow/mleflow/steps/steptest"
)

func TestMain(m *testing.M) {
	switch append(os.Args, "")[1] {
	case agent.Command:
		os.Exit(agent.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// chain runs steps of all kinds on one store.
type chain struct {
	t     *testing.T
	store cache.Cache
	kinds map[string]step.Kind
}

func newChain(t *testing.T) *chain {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	c := &chain{t: t, store: memory.New(), kinds: map[string]step.Kind{}}
	for _, k := range all.Kinds(all.Deps{
		Deps: agentrun.Deps{
			Catalog: catalog, Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(process.Runtime("")),
		},
		Sources: source.NewRegistry(source.All()...), Commands: process.New(""),
	}) {
		c.kinds[k.Name] = k
	}
	return c
}

func (c *chain) run(kind string, values map[string]cty.Value) (cache.Outputs, *steptest.Bench) {
	c.t.Helper()
	b := steptest.New(c.kinds[kind])
	b.Store = c.store
	out, err := b.Run(c.t, values)
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", kind, err, b.Log())
	}
	return out, b
}

// TestDemoCompetitions runs each demonstration through all six kinds.
func TestDemoCompetitions(t *testing.T) {
	c := newChain(t)
	var reports []cty.Value
	for id, seeds := range map[string]int{"demo-cancer": 2, "demo-digits": 1} {
		comp := cty.StringVal(id)
		raw, _ := c.run("download", map[string]cty.Value{"competition": comp})
		prepared, b := c.run("prepare", map[string]cty.Value{"competition": comp, "raw": steptest.Artifact(raw["tree"].Ref)})
		if files := b.Files(t, prepared["public"].Ref); strings.Contains(files["test.csv"], "malignant") || files["train.csv"] == "" || files["private/test.csv"] != "" {
			t.Errorf("%s: public files are wrong", id)
		}
		checked, _ := c.run("checksum", map[string]cty.Value{"competition": comp, "prepared": cty.ObjectVal(map[string]cty.Value{
			"public": steptest.Artifact(prepared["public"].Ref), "private": steptest.Artifact(prepared["private"].Ref),
		})})
		if diff := cmp.Diff(prepared["public"].Ref, checked["public"].Ref); diff != "" {
			t.Errorf("%s: checksum changed the public files:\n%s", id, diff)
		}
		for _, name := range agent.Names() {
			for seed := range seeds {
				attempt, ab := c.run("agent-run", map[string]cty.Value{
					"agent": agentValue(name), "competition": comp, "seed": cty.NumberIntVal(int64(seed)), "data": steptest.Artifact(checked["public"].Ref),
				})
				if out := string(attempt["outcome"].JSON); out != `"finished"` {
					t.Fatalf("%s at %s: outcome %s\n%s", name, id, out, ab.Log())
				}
				graded, gb := c.run("grade", map[string]cty.Value{
					"competition": comp, "submission": steptest.Artifact(attempt["submission"].Ref), "answers": steptest.Artifact(checked["private"].Ref),
					"labels": cty.MapVal(map[string]cty.Value{"agent": cty.StringVal(name), "seed": cty.StringVal(fmt.Sprint(seed))}),
				})
				var report grading.Graded
				if err := json.Unmarshal([]byte(gb.Text(t, graded["report"].Ref)), &report); err != nil {
					t.Fatal(err)
				}
				if report.Score == nil || report.Labels["agent"] != name || name == "baseline" && *report.Score < 0.93 {
					t.Errorf("%s at %s: %+v", name, id, report)
				}
				reports = append(reports, steptest.Artifact(graded["report"].Ref))
			}
		}
	}
	out, b := c.run("aggregate", map[string]cty.Value{"reports": cty.ListVal(reports)})
	var table string
	steptest.Decode(t, out["table"], &table)
	var board aggregate.Board
	if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
		t.Fatal(err)
	}
	if len(board.Agents) != 2 || board.Agents[0].Name != "baseline" || len(board.Entries) != len(reports) {
		t.Errorf("leaderboard:\n%s", table)
	}
	t.Log("\n" + table)
}

func agentValue(name string) cty.Value {
	word := cty.StringVal
	return cty.ObjectVal(map[string]cty.Value{
		"name": word(name), "image": word(""), "command": cty.ListVal([]cty.Value{word("mleflow"), word("agent"), word(name)}),
		"args": cty.ListValEmpty(cty.String), "env": cty.MapValEmpty(cty.String), "secrets": cty.MapValEmpty(cty.String), "secrets_in": cty.MapValEmpty(cty.String), "python": cty.NullVal(step.ArtifactType), "venv": cty.StringVal(""), "models": cty.ListValEmpty(step.ModelType),
		"built": cty.NullVal(step.ArtifactType), "files": cty.MapValEmpty(step.ArtifactType),
	})
}
