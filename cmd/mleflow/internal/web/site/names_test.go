package site

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions"
)

func TestNormalName(t *testing.T) {
	for name, want := range map[string]string{
		"aide": "aide", "aide ": "aide", " aide\t\n": "aide", "ai\u200bde": "aide", "\ufeffaide": "aide", "aide\u2060": "aide", "a\u00adide": "aide",
		"\u202eaide\u202c": "aide", "aide\u2800": "aide", "aide\u3164": "aide", "aide\ufe0f": "aide", "aide\U000e0041": "aide", "ａｉｄｅ": "aide", "𝐚𝐢𝐝𝐞": "aide",
		"a\x00i\x1bde": "aide", "ai\xffde": "aide", "my  agent": "my agent", "my\u00a0agent": "my agent", "aide [key 0123456789abcdef]": "aide (key 0123456789abcdef)",
		"ａｉｄｅ ［unsigned］": "aide (unsigned)", "u\u0308ber": "über", "": "(unlabelled)", "\u200b": "(unlabelled)", "日本": "日本",
	} {
		if got := normalName(name); got != want || normalName(got) != got {
			t.Errorf("%+q becomes %+q, want %+q", name, got, want)
		}
	}
}

func TestSkeleton(t *testing.T) {
	for name, other := range map[string]string{
		"аide": "aide", "AIDE": "aide", "a1de": "aide", "aldе": "aide", "аіԁе": "aide", "ο1-mini": "o1-mini", "open–hands": "open-hands", "modern": "modem", "aidé": "aide", "gpt-4о": "gpt-40",
	} {
		if skeleton(name) != skeleton(other) {
			t.Errorf("%+q and %+q have the skeletons %+q and %+q", name, other, skeleton(name), skeleton(other))
		}
	}
	for name, want := range map[string]bool{"аide": true, "аіԁе": true, "aide": false, "über": false, "日本 agent": false, "Рассвет": false, "π-agent": false, "aıde": true} {
		if disguised(name) != want {
			t.Errorf("%+q: want %v", name, want)
		}
	}
}

// keyOf is the id of a key for tests.
func keyOf(who string) string { return digest.Of([]byte("key of " + who)).String() }

// madeBy is a bundle with a name of its own, signed unless by nobody. Another run
// made its attempts, which the bundle says was long ago if it is backdated.
func madeBy(label, by string, backdated bool, gold func(int) bool) *Bundle {
	b := made(label, "own", 2, gold)
	b.File, b.Run = fmt.Sprintf("%x-%s.bundle", label, by), "2026-run-"+by+label
	if backdated {
		b.Run = "1999-run-" + by + label
	}
	b.Manifest = digest.Of([]byte(b.File)).String()
	if by != "" {
		b.Signer = keyOf(by)
	}
	for _, r := range b.Rows {
		r.RunID, r.MadeIn, r.AttemptAction, r.GradeAction = b.Run, b.Run, b.Run+r.Seed, b.File+r.Seed
	}
	return b
}

// medals are the mean percentages with a medal by agent.
func medals(s *Site) map[string]float64 {
	got := map[string]float64{}
	for _, t := range s.Tables {
		for _, a := range t.Agents {
			got[a.Name] = float64(a.Overall.Percentages[shownFigure].Mean)
		}
	}
	return got
}

// TestRivals has strangers use the name of an agent that its maker signed.
func TestRivals(t *testing.T) {
	key := func(who string) string { return " [key " + keyOf(who)[:16] + "]" }
	for name, tt := range map[string]struct {
		stranger *Bundle
		want     map[string]float64
		kinds    []Kind
	}{
		"an unsigned bundle, backdated":   {madeBy("aide", "", true, never), map[string]float64{"aide": 100, "aide [unsigned]": 0}, []Kind{Identity}},
		"with a space":                    {madeBy("aide ", "", true, never), map[string]float64{"aide": 100, "aide [unsigned]": 0}, []Kind{Identity, Identity}},
		"with a zero-width space":         {madeBy("ai\u200bde", "", true, never), map[string]float64{"aide": 100, "aide [unsigned]": 0}, []Kind{Identity, Identity}},
		"another key, in the same build":  {madeBy("aide", "mallory", true, never), map[string]float64{"aide" + key("alice"): 100, "aide" + key("mallory"): 0}, []Kind{Identity}},
		"Cyrillic":                        {madeBy("аide", "mallory", true, never), map[string]float64{"aide": 100, "аide [looks like another]": 0}, []Kind{Identity}},
		"capitals, unsigned":              {madeBy("AIDE", "", true, never), map[string]float64{"aide": 100, "AIDE [looks like another]": 0}, []Kind{Identity}},
		"a name like a mark of the board": {madeBy("aide"+key("alice"), "mallory", true, never), map[string]float64{"aide": 100, "aide (key " + keyOf("alice")[:16] + ")": 0}, []Kind{Identity}},
		"the same key, backdated":         {madeBy("aide ", "alice", true, never), map[string]float64{"aide": 0}, []Kind{Identity, Selection}},
	} {
		s := built(t, madeBy("aide", "alice", false, always), tt.stranger)
		if diff := cmp.Diff(tt.want, medals(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.kinds, kinds(s)); diff != "" {
			t.Errorf("%s: %+v\n%s", name, s.Findings, diff)
		}
	}
}

// TestUnsignedCopy has a stranger copy a bundle, without its signature and with a
// manifest that comes first: the attempts stay those of the signed one.
func TestUnsignedCopy(t *testing.T) {
	signed, copied := madeBy("aide", "alice", false, always), madeBy("aide", "alice", false, always)
	copied.Signer, copied.Manifest, copied.File = "", strings.Repeat("0", 64), "copy.bundle"
	s := built(t, copied, signed)
	if diff := cmp.Diff(map[string]float64{"aide": 100}, medals(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Kind{Identity, Duplicate}, kinds(s)); diff != "" {
		t.Errorf("%+v\n%s", s.Findings, diff)
	}
	// With another signature nothing says whose they are.
	copied = madeBy("aide", "alice", false, always)
	copied.Signer, copied.Manifest = keyOf("mallory"), strings.Repeat("0", 64)
	if s := built(t, copied, madeBy("aide", "alice", false, always)); len(medals(s)) != 2 {
		t.Errorf("%+v", medals(s))
	}
}

// TestLock keeps who was first, whatever later bundles say of themselves.
func TestLock(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board.lock")
	build := func(bundles ...*Bundle) *Site {
		t.Helper()
		lock, err := ReadLock(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Build(Request{Bundles: bundles, Catalog: catalog, Lock: lock})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, s.Lock.Text(), 0o600); err != nil {
			t.Fatal(err)
		}
		return s
	}
	alice := func() *Bundle { return madeBy("aide", "alice", false, always) }
	build(alice(), &Bundle{File: "bad", Refused: "x"})
	before, _ := os.ReadFile(path)
	build(alice())
	if after, _ := os.ReadFile(path); string(after) != string(before) || strings.Count(string(after), "\n") != 2 {
		t.Errorf("the same bundles change the lock:\n%s%s", before, after)
	}
	mallory := func() *Bundle { return madeBy("aide", "mallory", true, never) }
	want := map[string]float64{"aide": 100, "aide [key " + keyOf("mallory")[:16] + "]": 0}
	for _, bundles := range [][]*Bundle{{mallory(), alice()}, {alice(), mallory()}} {
		if diff := cmp.Diff(want, medals(build(bundles...))); diff != "" {
			t.Errorf("another key (-want +got):\n%s", diff)
		}
	}
	// Alice's second try is no better for being backdated.
	again := madeBy("aide ", "alice", true, never)
	if diff := cmp.Diff(map[string]float64{"aide": 100}, medals(build(again, alice()))); diff != "" {
		t.Errorf("the same key (-want +got):\n%s", diff)
	}
	// The name stays hers when her bundle is gone, and an unsigned one owns nothing.
	if got := slices.Collect(maps.Keys(medals(build(madeBy("aide", "", true, never))))); !slices.Equal(got, []string{"aide [unsigned]"}) {
		t.Errorf("the name is %v", got)
	}
	build(madeBy("solo", "", false, never))
	if got := medals(build(madeBy("solo", "", false, never), madeBy("solo", "bob", false, always))); got["solo"] != 100 || got["solo [unsigned]"] != 0 || len(got) != 2 {
		t.Errorf("the one who signs: %v", got)
	}
	for _, bad := range []string{"x\n", "{}\n", `{"build":2,"manifest":"a"}` + "\n" + `{"build":1,"manifest":"b"}` + "\n"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLock(path); err == nil || !strings.Contains(err.Error(), "board.lock:") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestReportedNames: a published row takes no name, and is one that others may look
// like.
func TestReportedNames(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Build(Request{Bundles: []*Bundle{madeBy("AIDE", "", false, always), madeBy("АIDE", "", false, always)}, Catalog: catalog, Reported: []Reported{{Agent: "AIDE"}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"AIDE": 100, "АIDE [looks like another]": 100}, medals(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStrangersRun: a run that a signed bundle discloses is not here because a stranger
// calls one of his so.
func TestStrangersRun(t *testing.T) {
	bundles := func(by string) []*Bundle {
		best, first := madeBy("aide", "alice", false, always), madeBy("other", by, false, never)
		best.Disclosure.Earlier = []bundle.EarlierRun{{Run: first.Run, Attempts: 2}}
		best.Disclosure.Run = best.Run
		best.Disclosure.Attempts = []bundle.Attempt{{History: bundle.History{Run: best.Run, Distinct: 1}}}
		return []*Bundle{best, first}
	}
	if diff := cmp.Diff([]Kind{Selection}, kinds(built(t, bundles("mallory")...))); diff != "" {
		t.Error(diff)
	}
	if got := kinds(built(t, bundles("alice")...)); len(got) > 0 {
		t.Errorf("alice's own run is no longer here: %v", got)
	}
}
