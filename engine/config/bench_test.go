package config

import (
	"fmt"
	"testing"
)

func BenchmarkExpand(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				p, diags := Parse("bench.hcl", []byte(chain), Options{Kinds: testKinds(), Version: "0.1.0"})
				if diags.HasErrors() {
					b.Fatal(diags)
				}
				in := Inputs{Assignments: []Assignment{{Text: fmt.Sprintf("n=%d", n/3)}}}
				values, _ := p.Values(in)
				g, diags := p.Expand(values)
				if diags.HasErrors() || len(g.Instances) < n-3 {
					b.Fatal(diags, len(g.Instances))
				}
			}
		})
	}
}
