package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
)

func TestDiffText(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct{ name, from, to, want string }{
		{"short", "a", "b", "f changed from a to b"},
		{"empty", "", "b", `f changed from "" to b`},
		{"escaped for web pages", `["a \u003e b"]`, `["a \u003c b"]`, `f changed from ["a > b"] to ["a < b"]`},
		{"digest", strings.Repeat("0a", 32), strings.Repeat("0b", 32), "f changed from 0a0a0a0a0a0a to 0b0b0b0b0b0b"},
		{"late in a long text", long + "1", long + "2", "f changed from …" + long[:20] + "1 to …" + long[:20] + "2"},
		{"early in a long text", "1" + long, "2" + long, "f changed from 1" + long[:56] + "… to 2" + long[:56] + "…"},
		{"longer by its end", long, long + "2", "f changed from …" + long[:20] + " to …" + long[:20] + "2"},
		{"within a letter", strings.Repeat("é", 50) + "à", strings.Repeat("é", 50) + "â", "f changed from …" + strings.Repeat("é", 10) + "à to …" + strings.Repeat("é", 10) + "â"},
		{"cut within a letter", strings.Repeat("é", 50), "a", "f changed from " + strings.Repeat("é", 28) + "… to a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := diff([]digest.Field{{Label: "f", Value: tt.from}}, []digest.Field{{Label: "f", Value: tt.to}})
			if len(got) != 1 {
				t.Fatalf("%d reasons, want 1", len(got))
			}
			if d := cmp.Diff(tt.want, got[0].Text); d != "" {
				t.Error(d)
			}
		})
	}
}
