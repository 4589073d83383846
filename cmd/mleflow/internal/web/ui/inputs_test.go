package ui

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestHostileInputs puts hostile values into every part of an address: none is the
// server's failure.
func TestHostileInputs(t *testing.T) {
	l := newLab(t)
	a := usual("aide", "0", "1")
	run := l.write("p.hcl", time.Unix(1000, 0), []attempt{a})
	l.finish(run, 0, a)
	l.close(run, 1)
	l.indexed()
	id := run.ID()
	queries := []string{"q", "name", "other", "file", "page", "state", "address", "tab", "turn", "a", "b", "kind", "competition", "agent", "sort", "seed"}
	for name, value := range map[string]string{
		"long": strings.Repeat("a", 60_000), "nothing": "\x00", "up": "../../etc/passwd", "not UTF-8": "\xff\xfe", "number": "-99999999999999999999", "brackets": strings.Repeat("[", 5000), "quotes": `step.x["`,
	} {
		v := url.PathEscape(value)
		paths := []string{"/runs/" + v, "/runs/" + v + "/steps", "/runs/" + v + "/attempts", "/runs/" + v + "/about", "/runs/" + v + "/report", "/step/" + v, "/turns/" + v, "/competitions/" + v}
		for _, page := range []string{"/runs", "/runs/" + id, "/runs/" + id + "/steps", "/runs/" + id + "/attempts", "/step/" + id, "/turns/" + id, "/competitions", "/agents", "/agent", "/compare"} {
			for _, q := range queries {
				paths = append(paths, page+"?"+q+"="+url.QueryEscape(value))
			}
		}
		for _, page := range pagesOf(id, a) {
			for _, q := range []string{"file", "turn", "from", "to", "tab", "page", "q"} {
				if strings.Contains(page, "?") {
					paths = append(paths, page+"&"+q+"="+url.QueryEscape(value))
				}
			}
		}
		for _, p := range paths {
			if status, _ := l.get(p); status >= 500 {
				t.Errorf("%s: %.60s: status %d", name, p, status)
			}
		}
	}
}
