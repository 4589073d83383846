package ui

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
)

// strange are texts that a page may show badly: too long, of another direction, of many
// marks, of markup, of further lines.
var strange = []struct{ name, text string }{
	{"long", strings.Repeat("an_agent_whose_name_has_no_space_", 6)},
	{"words", strings.Repeat("an agent with a long name ", 8)},
	{"direction", "agent \u202egnp.exe\u202c \u2067abc\u2069 סוכן חכם 12:30 (א) 0.995 gold"},
	{"arabic", "وكيل ذكي 1 من 3 (ذهب)"},
	{"marks", "z" + strings.Repeat("\u0301\u0323\u0336", 30) + "a" + strings.Repeat("\u20dd\u0489", 20) + "lgo 👩\u200d🔬👨\u200d👩\u200d👧\u200d👦 🏴\u200d☠️ 日本語のモデル"},
	{"markup", `<b>bold</b> <h1 style="font-size:90px">big</h1> </bdi></td></tr></table><img src=x> &lt;i&gt;`},
	{"lines", "first line\r\nsecond line\n\n\n\ttab\x1b[31mred\x1b[0m\x00\a\u2028separated\u0085end"},
}

// shotPages are the pages of which TestShots takes pictures, by the names of sets.
var shotPages = map[string]func(*lab) map[string]string{
	"1":  func(l *lab) map[string]string { return listPages(l.try("mlebench.hcl", l.start, trials(1))) },
	"20": func(l *lab) map[string]string { return listPages(l.try("mlebench.hcl", l.start, trials(20))) },
	"5000": func(l *lab) map[string]string {
		l.reports = true
		id := l.try("mlebench.hcl", l.start, trials(5000))
		l.try("demo.hcl", l.start.Add(time.Hour), trials(20))
		return listPages(id)
	},
	"usual": func(l *lab) map[string]string {
		run, attempts := l.usualRun()
		return pagesOf(run, attempts[0])
	},
	"failed": func(l *lab) map[string]string {
		run, attempts := l.mixed([]string{"aide", "dummy"}, []string{"demo-digits", "spooky-author-identification"}, 3, l.start, true)
		return without("check", pagesOf(run, attempts[5]))
	},
	"live": func(l *lab) map[string]string {
		run, attempts := l.mixed([]string{"aide", "dummy"}, []string{"demo-digits", "demo-cancer"}, 3, time.Now(), false)
		return without("check", pagesOf(run, attempts[10]))
	},
	"hostile": func(l *lab) map[string]string {
		run, attempts := l.strangeRun()
		pages := pagesOf(run, attempts[0])
		for i, a := range attempts {
			for name, address := range pagesOf(run, a) {
				if slices.Contains([]string{"attempt Story", "attempt Checks", "turn", "agent", "compare"}, name) {
					pages[strange[i].name+" "+name] = address
				}
			}
		}
		return pages
	},
}

// without leaves a page out.
func without(name string, pages map[string]string) map[string]string {
	delete(pages, name)
	return pages
}

// listPages are the addresses of pages with tables.
func listPages(run string) map[string]string {
	return map[string]string{"run": runAddress(run), "report": runAddress(run) + "/report", "runs": "/runs", "attempts": runAddress(run) + "/attempts", "grouped": runAddress(run) + "/attempts?group=agent&fold=1", "results": "/attempts?sort=score&dir=desc",
		"steps": runAddress(run) + "/steps", "competitions": "/competitions", "agents": "/agents", "competition": "/competitions/demo-digits", "agent": "/agent?name=aide", "search": "/search?q=aide",
		"compare": "/compare?a=" + escaped(agentPrefix+"aide") + "&b=" + escaped(agentPrefix+"codex")}
}

// usualRun writes a run with four attempts.
func (l *lab) usualRun() (run string, attempts []attempt) {
	attempts = []attempt{usual("aide", "0", "a note"), usual("aide", "1", "a note"), usual("dummy", "0", "a note"), usual("dummy", "1", "a note")}
	attempts[1].score, attempts[2].score, attempts[3].reason = 0.995, 0.8, "the column label is missing"
	return l.ended("demo.hcl", attempts), attempts
}

// strangeRun writes a run with an attempt of each strange text.
func (l *lab) strangeRun() (run string, attempts []attempt) {
	for i, s := range strange {
		a := usual(strings.NewReplacer("/", "_", "\n", " ").Replace(s.text), fmt.Sprint(i), s.text)
		if i%3 == 1 {
			a.reason = s.text
		}
		attempts = append(attempts, a)
	}
	return l.ended("strange.hcl", attempts), attempts
}

// ended writes a run of attempts that finished.
func (l *lab) ended(pipeline string, attempts []attempt) string {
	r := l.write(pipeline, l.start, attempts)
	for i, a := range attempts {
		l.finish(r, i, a)
	}
	l.close(r, steps(attempts...))
	return r.ID()
}

// TestShots writes pictures of every page into the folder MLEFLOW_SHOTS, for who looks at
// them: three widths, light and dark, SET-PAGE-WIDTH-THEME.png.
func TestShots(t *testing.T) {
	dir := os.Getenv("MLEFLOW_SHOTS")
	if dir == "" {
		t.Skip("MLEFLOW_SHOTS names no folder")
	}
	b := browsertest.Open(t)
	for _, set := range slices.Sorted(maps.Keys(shotPages)) {
		t.Run(set, func(t *testing.T) {
			l := newLab(t)
			pages := shotPages[set](l)
			l.get("/agents")
			l.indexed()
			base, first := l.serve()
			for _, f := range sizes {
				t.Run(f.Name, func(t *testing.T) {
					tab := b.Tab(f)
					tab.Go(first)
					for _, name := range slices.Sorted(maps.Keys(pages)) {
						tab.Go(base + pages[name])
						looked(t, tab, name)
						tab.Shot(filepath.Join(dir, set+"-"+strings.ReplaceAll(name, " ", "_")+"-"+f.Name+".png"))
					}
				})
			}
		})
	}
}
