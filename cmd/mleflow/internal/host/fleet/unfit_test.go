package fleet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// listing is a backend of which only the nodes are known.
type listing struct {
	cluster.Backend
	nodes []cluster.Node
}

func (l listing) Nodes(context.Context) ([]cluster.Node, error) { return l.nodes, nil }

// read reads a cluster file with one backend and gives it these nodes.
func read(t *testing.T, attributes string, nodes ...cluster.Node) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.hcl")
	text := "backend \"local\" \"lab\" {\n  folder = \"" + t.TempDir() + "\"\n" + attributes + "\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, diags := Read(path)
	if len(diags) > 0 {
		t.Fatalf("%+v", diags)
	}
	f.Backends[0].Backend = listing{f.Backends[0].Backend, nodes}
	return f
}

// TestPreemptible sees how often jobs of preemptible backends are restarted.
func TestPreemptible(t *testing.T) {
	for attributes, want := range map[string]int{"": 3, "preemptible = true": 100, "preemptible = true\nretries = 5": 5} {
		if b := read(t, attributes).Backends[0]; b.Retries != want || newYard(b, nil).place.Preemptible != (attributes != "") {
			t.Errorf("%q: %+v", attributes, b)
		}
	}
}

// TestGrace warns of a grace in which no checkpoint is taken, and of what keeps nodes from
// taking jobs.
func TestGrace(t *testing.T) {
	for attributes, warns := range map[string]bool{"": false, "grace = \"5s\"": false, "preemptible = true": false, "preemptible = true\ngrace = \"5s\"": true} {
		if c := ExamineGrace(read(t, attributes).Backends[0]); (c != nil) != warns {
			t.Errorf("%q: %+v", attributes, c)
		}
	}
	f := read(t, "", cluster.Node{Name: "n1", Ready: true}, cluster.Node{Name: "n2", Why: "DiskPressure"})
	if c := cluster.ExamineNodes(t.Context(), f.Backends[0], ""); !c.OK || !strings.HasSuffix(c.Detail, "; not n2 (DiskPressure)") {
		t.Errorf("%+v", c)
	}
}

// TestTimeLimit compares timeout, spare and grace with the limits of the nodes that
// are large enough.
func TestTimeLimit(t *testing.T) {
	node := func(cpus float64, limit time.Duration) cluster.Node {
		return cluster.Node{Has: cluster.Needs{CPUs: cpus}, MaxTime: limit, Ready: true}
	}
	for _, c := range []struct {
		name, attributes string
		nodes            []cluster.Node
		timeout          time.Duration
		want             string // a part of the reason, empty if it fits
		doctor           string // a part of the check, empty if there is none
	}{
		{"no limit", "", []cluster.Node{node(8, 0)}, 24 * time.Hour, "", ""},
		{"just fits", "", []cluster.Node{node(8, time.Hour)}, 28 * time.Minute, "", "may be up to 28m"},
		{"too long", "", []cluster.Node{node(8, time.Hour)}, 30 * time.Minute, "needs 1h2m (timeout 30m, spare 30m, grace 2m)", "may be up to 28m"},
		{"less spare", "spare = \"5m\"\ngrace = \"1m\"", []cluster.Node{node(8, time.Hour)}, 54 * time.Minute, "", "may be up to 54m"},
		{"large enough is too short", "", []cluster.Node{node(8, time.Hour), node(1, 0)}, time.Hour, "may run for 1h;", ""},
		{"no timeout", "", []cluster.Node{node(8, time.Hour)}, 0, "", "may be up to 28m"},
		{"nothing left", "", []cluster.Node{node(8, 30*time.Minute)}, time.Minute, "may run for 30m;", "nothing is left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, c.attributes, c.nodes...)
			fleet := New(f, Options{Warn: func(text string) { t.Error(text) }})
			got := fleet.Unfit(t.Context(), "lab", digest.ActionID{}, step.Limits{CPUs: 4, Timeout: c.timeout})
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			check := ExamineTime(t.Context(), f.Backends[0])
			if (check == nil) != (c.doctor == "") || check != nil && !strings.Contains(check.Detail, c.doctor) {
				t.Errorf("%+v, want %q", check, c.doctor)
			}
		})
	}
}
