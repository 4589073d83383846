package conditions

import (
	"slices"
	"strings"
	"testing"
)

func set(words string) []string { return strings.Fields(words) }

// TestClass names the classes of attempts that agree and of some that do not.
func TestClass(t *testing.T) {
	long := set("isolation=sandbox runtime=sandbox task=own time=36h cpus=8 gpus=0 network=none")
	short := set("isolation=sandbox runtime=containerd task=own time=12h cpus=8 gpus=0 network=none")
	for _, tt := range []struct {
		name string
		sets [][]string
		want string
	}{
		{"none", nil, "isolation unknown, task unknown"},
		{"alike", [][]string{short, short}, "isolation sandbox, task own, time 12h, cpus 8, gpus 0, network none, memory/budget/feedback/knowledge not recorded"},
		{"other runtime", [][]string{short, append(slices.Clone(short), "runtime=sandbox")}, "isolation sandbox, task own, time 12h, cpus 8, gpus 0, network none, memory/budget/feedback/knowledge not recorded"},
		{"the machine's programs", [][]string{short, append(set("isolation=host-files"), short[1:]...)}, "isolation sandbox, task own, time 12h, cpus 8, gpus 0, network none, memory/budget/feedback/knowledge not recorded"},
		{"a virtual environment of the machine", [][]string{set("isolation=host-files task=own environment=host-venv")}, "isolation sandbox with host venv, task own, time/cpus/memory/gpus/network/budget/feedback/knowledge not recorded"},
		{"a validation score", [][]string{set("isolation=sandbox task=own feedback=validation(50)"), set("isolation=sandbox task=own feedback=validation(50/rank)")}, "isolation sandbox, task own, feedback validation(50)|validation(50/rank), time/cpus/memory/gpus/network/budget/knowledge not recorded"},
		{"two limits", [][]string{long, short, long}, "isolation sandbox, task own, time 12h|36h, cpus 8, gpus 0, network none, memory/budget/feedback/knowledge not recorded"},
		{"not said", [][]string{set("isolation=sandbox task=own"), set("isolation=sandbox task=own gpus=1")}, "isolation sandbox, task own, gpus 1|not recorded, time/cpus/memory/network/budget/feedback/knowledge not recorded"},
		{"prices", [][]string{set("isolation=sandbox task=own budget=1usd"), set("isolation=sandbox task=own budget=1usd prices=gpt-5.5@0/0usd")}, "isolation sandbox, task own, budget 1usd, prices list|gpt-5.5@0/0usd, time/cpus/memory/gpus/network/feedback/knowledge not recorded"},
		{"servers", [][]string{set("isolation=sandbox task=own host=a:1 host=b:2"), set("isolation=sandbox task=own host=a:1 host=b:2")}, "isolation sandbox, task own, host a:1+b:2, time/cpus/memory/gpus/network/budget/feedback/knowledge not recorded"},
		{"tries", [][]string{set("isolation=sandbox task=own tries=2"), set("isolation=sandbox task=own tries=3"), set("isolation=sandbox task=own")}, "isolation sandbox, task own, time/cpus/memory/gpus/network/budget/feedback/knowledge not recorded, 1 of 3: tries 2, 1 of 3: tries 3"},
		{"one of several", [][]string{set("steered=time+20m steered=stopped@1h"), set("steered=stopped@2h resumes=1"), set("steered=time+1h"), set("chain=incomplete")}, "isolation unknown, task unknown, 1 of 4: tries not provable, 1 of 4: resumes 1, 2 of 4: stopped by hand, 1 of 4: time+1h by hand, 1 of 4: time+20m by hand"},
		{"all of several", [][]string{set("steered=time+20m steered=stopped@1h resumes=1 tries=2"), set("steered=time+20m steered=stopped@2h resumes=1 tries=2")}, "isolation unknown, task unknown, tries 2, resumes 1, stopped by hand, time+20m by hand"},
		{"rehearsal", [][]string{set("isolation=none task=own data=rehearsal")}, "isolation none (untrusted), task own (rehearsal), time/cpus/memory/gpus/network/budget/feedback/knowledge not recorded"},
		{"a submission that is no attempt's", [][]string{nil, set("isolation=none time=1h")}, "isolation mixed: none (untrusted), unknown, task unknown, time unknown|1h, cpus unknown|not recorded, memory unknown|not recorded, gpus unknown|not recorded, network unknown|not recorded, budget unknown|not recorded, feedback unknown|not recorded, knowledge unknown|not recorded"},
	} {
		if got := Class(tt.sets...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if n := len(Differing(long, short, long, append(slices.Clone(short), "tries=2", "runtime=x"))); n != 2 {
		t.Errorf("%d budgets, want 2", n)
	}
	for sets, want := range map[string]string{"time=24h": "24", "time=90m": "1.5", "time=12h+waits": "12", "time=unlimited": "", "gpus=1": ""} {
		if got := Hours(set(sets)); got != want {
			t.Errorf("hours of %s: %q, want %q", sets, got, want)
		}
	}
	if got := Hours(long, short); got != "" {
		t.Errorf("hours of both %q", got)
	}
	if notes := strings.Join(Notes([]Attempts{{"a", [][]string{long}}, {"b", [][]string{short}}}), " "); !strings.Contains(notes, "Mixed conditions (time 12h|36h)") {
		t.Errorf("notes %s", notes)
	}
}

// TestComparable leaves the numbers of attempts out of a class, and nothing else.
func TestComparable(t *testing.T) {
	one, other := set("isolation=sandbox task=own steered=stopped@1h tries=2"), set("isolation=sandbox task=own")
	class := Class(one, other, other)
	if got := Comparable(class); got == class || got != Comparable(Class(one, one, other)) || got != Class(one) {
		t.Errorf("%q of %q", got, class)
	}
	if class := Class(other); Comparable(class) != class || Comparable(Class(one, other)) == class {
		t.Errorf("%q of %q", Comparable(class), class)
	}
}

// TestSecretFound names attempts that left a secret, which stay in their class.
func TestSecretFound(t *testing.T) {
	clean, leaky := set("isolation=sandbox task=own"), set("isolation=sandbox task=own secret_in=code secret_in=submission")
	if got := Described(clean, leaky); got != "sandbox, 1 with a secret in what was left" {
		t.Errorf("described as %q", got)
	}
	if Class(clean) != Class(leaky) {
		t.Errorf("classes %q and %q", Class(clean), Class(leaky))
	}
	notes := strings.Join(Notes([]Attempts{{"a", [][]string{clean, leaky}}}), " ")
	if !strings.Contains(notes, "Secret found: 1 of 2 attempts of a left the value of a secret in what they made (code, submission).") {
		t.Errorf("notes %s", notes)
	}
}

// TestCheckClass takes and refuses selections.
func TestCheckClass(t *testing.T) {
	for _, good := range []string{"", "any", "time=24h gpus=1", "tries=2", "isolation=none"} {
		if err := CheckClass(set(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"A", "time", "time=", "hours=24", "any time=24h"} {
		if err := CheckClass(set(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
