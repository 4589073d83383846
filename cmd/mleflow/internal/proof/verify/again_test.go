package verify

import (
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/lockfile"
)

// TestSameFigures tells a board in the words of another version from one with other figures,
// and from one of which only the texts were changed.
func TestSameFigures(t *testing.T) {
	store := memory.New()
	board := func(class, end, gold string) string {
		text := `{"agents": [{"name": "a", "class": "` + class + `", "place": 1, "competitions": [{"competition": "apples", "runs": 1, "gold_medals": ` + gold + `, "unscored": {"` + end + `": 1}}]}]}`
		ref, err := cache.PutBytes(t.Context(), store, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return "blob " + ref.ID.String()
	}
	is := board("isolation sandbox", "invalid submission", "0")
	text := lockfile.Deviation{Field: "output table", Was: "x", Is: "y"}
	for name, tt := range map[string]struct {
		list []lockfile.Deviation
		want bool
	}{
		"other words":   {[]lockfile.Deviation{{Field: "output board", Was: board("isolation host-files", "invalid", "0"), Is: is}, text}, true},
		"other figures": {[]lockfile.Deviation{{Field: "output board", Was: board("isolation sandbox", "invalid", "1"), Is: is}, text}, false},
		"a text alone":  {[]lockfile.Deviation{text}, false},
	} {
		got, err := sameFigures(t.Context(), store, engine.Verified{Deviations: tt.list})
		if err != nil || got != tt.want || !differs(engine.Verified{Deviations: tt.list}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if differs(engine.Verified{Deviations: []lockfile.Deviation{{Field: "comparison"}}}) {
		t.Error("a board whose key alone differs is another")
	}
	if _, err := sameFigures(t.Context(), store, engine.Verified{Deviations: []lockfile.Deviation{{Field: "output board", Was: "blob x", Is: is}}}); err == nil {
		t.Error("a board without a digest was compared")
	}
}
