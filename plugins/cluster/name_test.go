package cluster_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/cluster"
)

func TestJobName(t *testing.T) {
	name := cluster.JobName(strings.Repeat("0123456789abcdef", 4))
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,61}[a-z0-9]$`).MatchString(name) {
		t.Errorf("%q is no DNS label", name)
	}
}

// TestRank: a node that goes changes nothing for what prefers another, and what
// preferred it is spread over the rest.
func TestRank(t *testing.T) {
	var nodes []string
	for i := range 100 {
		nodes = append(nodes, fmt.Sprintf("node%02d", i))
	}
	gone := nodes[17]
	rest := slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == gone })
	first := map[string]int{}
	for i := range 10_000 {
		near := fmt.Sprint("tree ", i)
		before := cluster.Rank(near, nodes)
		first[before[0]]++
		after := cluster.Rank(near, rest)
		if want := slices.DeleteFunc(slices.Clone(before), func(n string) bool { return n == gone }); !slices.Equal(after, want) {
			t.Fatalf("%s: the order of the rest changed", near)
		}
	}
	for _, n := range nodes { // binomial: 100 ± 10; five deviations
		if first[n] < 50 || first[n] > 150 {
			t.Errorf("%s is the first of %d of 10,000", n, first[n])
		}
	}
}

func TestHold(t *testing.T) {
	node := cluster.Needs{CPUs: 4, MemoryBytes: 100, GPUs: 1}
	for _, c := range []struct {
		request cluster.Needs
		want    bool
	}{
		{cluster.Needs{}, true},
		{node, true},
		{cluster.Needs{CPUs: 4.5}, false},
		{cluster.Needs{MemoryBytes: 101}, false},
		{cluster.Needs{GPUs: 2}, false},
		{cluster.Needs{DiskBytes: 1 << 40}, true},
	} {
		if got := node.Hold(c.request); got != c.want {
			t.Errorf("%+v: %v", c.request, got)
		}
	}
}
