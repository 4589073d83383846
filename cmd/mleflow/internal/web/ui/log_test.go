package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestLevels tells the levels of lines as programs write them.
func TestLevels(t *testing.T) {
	for _, tt := range []struct {
		log  string
		want string
	}{
		{"epoch 1\nINFO ready\n2026-03-01 10:00:00,123 - trainer - WARNING - slow", ". info warning"},
		{"[2026-03-01T10:00:00Z] ERROR: no\nDEBUG x\nno errors here\nan ERRORLESS run", "error debug . ."},
		{"Traceback (most recent call last):\n  File \"main.py\"\n\n    x\nValueError: no\nfine", "error error error error error ."},
		{"UserWarning: old\nfatal: not a repository\nprogress 50%", "warning error ."},
	} {
		var l leveller
		var got []string
		for line := range strings.SplitSeq(tt.log, "\n") {
			name := levelNames[l.of(line)]
			if name == "" {
				name = "."
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %q, want %q", tt.log, got, tt.want)
		}
	}
}

// TestLogs pages through a long log, searches it, filters it and follows a line.
func TestLogs(t *testing.T) {
	l := newLab(t)
	a := usual("aide", "0", "x")
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "\x1b[32m2026-03-01 10:00:%02d\x1b[0m epoch %d\r\n", i%60, i+1)
	}
	log.WriteString("ERROR <b>boom</b> \u202egnp.exe\n")
	a.logs["output.log"] = log.String()
	a.logs["other.txt"] = "epoch 4990\nx\nEpoch 499\n"
	r := l.write("demo.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	at := pagesOf(r.ID(), a)["attempt Logs"]
	for query, want := range map[string][]string{
		"":                          {`id="L5001"`, `id="L3002"`, `class="l error"`, "&lt;b&gt;boom", "error 1", `<span class="soft">2026-03-01 10:00:19 </span>epoch 5000`},
		"&line=2500":                {`id="L2001"`, `id="L4000"`, "2,001 to 4,000 of 5,001"},
		"&find=EPOCH+499":           {"<mark>epoch 499</mark>0", `#L499"`, "<mark>2 lines</mark>", "file=other.txt&amp;find=epoch&#43;499&amp;"},
		"&level=error":              {`#L5001"`, "line=5001", "All lines"},
		"&level=error&find=nothing": {"None of the 5,001 lines matches"},
		"&file=nothing":             {"There is no such file"},
	} {
		_, body := l.get(at + query)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%q lacks %q", query, text)
			}
		}
		if strings.ContainsAny(body, "\x1b\u202e") || strings.Contains(body, "[32m") || strings.Contains(body, "<b>boom") {
			t.Errorf("%q has what the log tells a terminal or a browser", query)
		}
		if n := strings.Count(body, `id="L`); n > logShown {
			t.Errorf("%q has %d lines", query, n)
		}
	}
}

// TestUsage keeps measurements of any number in little space, over all of the time.
func TestUsage(t *testing.T) {
	begun := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, n := range []int{1, 100, 1000, 20_000} {
		u := &useOverTime{}
		for i := range n {
			u.add(event.StepPhase{At: event.At{Time: begun.Add(time.Duration(i) * 30 * time.Second)}, Phase: step.Phase{Name: step.Running, Started: begun, MemoryBytes: int64(i)}})
		}
		last := time.Duration(n-1) * 30 * time.Second
		if len(u.points) == 0 || len(u.points) >= usePoints || n > usePoints && len(u.points) < usePoints/4 || u.points[0].at != 0 || last-u.points[len(u.points)-1].at > last/20 {
			t.Errorf("%d measurements: %d points, from %s to %s of %s", n, len(u.points), u.points[0].at, u.points[len(u.points)-1].at, last)
		}
	}
}

// TestRates takes rates between measurements, whatever reports are in between.
func TestRates(t *testing.T) {
	at := func(millis, cpu int64) useAt {
		return useAt{at: time.Duration(millis) * time.Millisecond, cpu: time.Duration(cpu) * time.Millisecond}
	}
	for name, tt := range map[string]struct {
		points []useAt
		want   []float64
	}{
		"none":              {nil, nil},
		"one":               {[]useAt{at(0, 0)}, nil},
		"a repeated one":    {[]useAt{at(0, 0), at(1999, 0), at(2000, 3000), at(4000, 5000)}, []float64{1.5, 1}},
		"just after it":     {[]useAt{at(0, 0), at(2000, 2000), at(2001, 2130), at(4001, 6000)}, []float64{1, 4000. / 2001}},
		"idle":              {[]useAt{at(0, 0), at(2000, 2000), at(7000, 2000), at(9000, 4000)}, []float64{1, 0, 1}},
		"a smaller amount":  {[]useAt{at(0, 9000), at(6000, 3000)}, []float64{0}},
		"nothing was known": {[]useAt{at(0, 0), at(6000, 0)}, nil},
	} {
		var got []float64
		for _, s := range rates(tt.points, func(p useAt) float64 { return p.cpu.Seconds() }, 1) {
			got = append(got, s.Value)
		}
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
