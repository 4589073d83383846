package page

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/results"
)

// TestHours draws a bar whose parts are as wide as their share.
func TestHours(t *testing.T) {
	part := func(name string, seconds float64) results.HourPart { return results.HourPart{Name: name, Seconds: &seconds} }
	one := &results.Hours{Agent: `<b>"`, Attempts: 2, WallSeconds: 400, GPUHours: 1.5, Parts: []results.HourPart{part("waiting", 100), {Name: "model"}, part("idle", 300), part("lost", 0)}}
	all := *one
	all.Agent = ""
	svg, names := Hours([]*results.Hours{one, one, &all})
	for _, want := range []string{`&lt;b&gt;&#34;`, `<title>waiting: 1m40s, 25%</title>`, `width="112.5"`, `<title>idle: 5m00s, 75%</title>`, `width="337.5"`, "6m40s of 2 attempts, 1.5 GPU h"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %q in %s", want, svg)
		}
	}
	if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "lost:") || strings.Join(names, ",") != "waiting,model (not measured),idle,lost" {
		t.Errorf("%q\n%s", names, svg)
	}
	if svg, _ := Hours(nil); svg != "" {
		t.Error(svg)
	}
}
