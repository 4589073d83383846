package ui

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
)

// TestStrangersInTheBrowser lets the pages of another origin, and of a name that
// was made to resolve to this machine, ask for ours in a browser that may see them.
func TestStrangersInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	r := l.write("secret.hcl", l.start, []attempt{usual("a", "0", "x")})
	l.close(r, 0)
	base, first := l.serve()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<h1>evil</h1>"))
	}))
	defer evil.Close()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Wait(`document.body.innerText.includes('secret.hcl')`)
	tab.Go(evil.URL)
	for name, script := range map[string]string{
		"fetch":        `fetch('%s/runs', {credentials: 'include'}).then(r => r.text())`,
		"blind fetch":  `fetch('%s/runs', {credentials: 'include', mode: 'no-cors'}).then(r => r.type === 'opaque' ? 'refused' : r.text())`,
		"event stream": `new Promise((done, fail) => { const e = new EventSource('%s/runs', {withCredentials: true}); e.addEventListener('sections', m => done(m.data)); e.onerror = fail; })`,
		"script":       `new Promise((done, fail) => { const s = document.createElement('script'); s.src = '%s/page.js'; s.onload = () => done('loaded'); s.onerror = fail; document.body.append(s); })`,
		"style":        `new Promise((done, fail) => { const s = document.createElement('link'); s.rel = 'stylesheet'; s.href = '%s/style.css'; s.onload = () => done('loaded'); s.onerror = fail; document.head.append(s); })`,
		"frame":        `new Promise(done => { const f = document.createElement('iframe'); f.src = '%s/runs'; f.onload = () => { try { done(f.contentDocument.body.innerText); } catch { done('refused'); } }; document.body.append(f); })`,
	} {
		if got := tab.Run(`(` + fmt.Sprintf(script, base) + `).catch(() => 'refused')`); got != `"refused"` {
			t.Errorf("%s gives another origin %.200s", name, got)
		}
	}
	rebound := strings.Replace(base, "127.0.0.1", browsertest.Rebound, 1)
	for _, at := range []string{rebound + "/runs", strings.Replace(first, "127.0.0.1", browsertest.Rebound, 1)} {
		tab.Go(at)
		if text := tab.Run("document.documentElement.outerHTML"); strings.Contains(text, "secret.hcl") || strings.Contains(text, "mleflow") && strings.Contains(text, "Competitions") {
			t.Errorf("a name that was made to resolve here gets %.300s", text)
		}
		if cookies := tab.Run("document.cookie"); cookies != `""` {
			t.Errorf("it has the cookies %s", cookies)
		}
	}
	tab.Go(base + "/runs") // who may, still can
	tab.Wait(`document.body.innerText.includes('secret.hcl')`)
}
