package kubernetes

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// TestRealExamine examines backends of which each lacks one thing.
func TestRealExamine(t *testing.T) {
	l := realCluster(t, nil)
	for _, c := range []struct {
		name   string
		change func(*Config)
		check  string // the first one that is not OK; "" for none
		want   string
	}{
		{"right", func(*Config) {}, "", ""},
		{"no server", func(c *Config) { c.Context = "none" }, "", ""}, // New says so
		{"no permissions", func(c *Config) { c.Namespace = "default" }, "permissions", "create jobs"},
		{"no namespace", func(c *Config) { c.Namespace, c.Kubeconfig = "none-such", l.dir+"/run/admin.kubeconfig" }, "job", "no namespace none-such"},
		{"no node", func(c *Config) { c.NodeSelector = map[string]string{"pool": "none"} }, "nodes", "0 may be used"},
		{"no such field", func(c *Config) { c.PriorityClass = "None Such" }, "job", "priorityClassName"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := l.Config
			c.change(&config)
			b, err := New(config)
			if err != nil {
				if c.check != "" || c.name == "right" {
					t.Fatal(err)
				}
				return
			}
			var first cluster.Check
			for _, k := range b.Examine(t.Context(), cluster.Job{Name: cluster.JobName("0"), Args: []string{"version"}}) {
				if !k.OK && first.Name == "" {
					first = k
				}
			}
			if first.Name != c.check || !strings.Contains(first.Detail, c.want) || first.Name != "" && first.Fix == "" {
				t.Errorf("found %+v, want %s: %s", first, c.check, c.want)
			}
		})
	}
}
