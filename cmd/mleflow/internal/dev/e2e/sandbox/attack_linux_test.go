package sandbox

import (
	"encoding/json"
	"testing"
)

// TestDoctorAttack lets mleflow doctor attack from an image in containerd, where nothing is
// reached.
func TestDoctorAttack(t *testing.T) {
	h := newHost(t)
	h.env = append(h.env, "MLEFLOW_AUTO_RUNTIME=containerd")
	stdout, stderr, code := h.run("doctor", "--attack", "--json")
	var found struct {
		OK      bool
		Attacks []struct {
			Runtime  string
			Findings []struct{ Probe, Result string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != 0 || !found.OK || len(found.Attacks) != 1 || found.Attacks[0].Runtime != "containerd" || len(found.Attacks[0].Findings) < 25 {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, tail(stdout), tail(stderr))
	}
	for _, f := range found.Attacks[0].Findings {
		if f.Result != "held" {
			t.Errorf("%s: %s", f.Probe, f.Result)
		}
	}
}
