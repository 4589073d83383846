package site

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

// told is a bundle with everything that a page can show, and a text wherever an
// agent or the maker of a bundle has a say.
func told(agent, text string, seeds int, gold func(int) bool) *Bundle {
	b := made(agent, "own", seeds, gold)
	b.File, b.Pipeline, b.Mleflow, b.Signatures, b.Unmade, b.Pinned = text+".bundle", text, text, 1, []string{text}, []string{text}
	b.Disclosure = &bundle.Disclosure{Run: text, Pipeline: text, Version: text, Environment: bundle.Environment{OS: text, Facts: map[string]string{text: text}}, Earlier: []bundle.EarlierRun{{Run: text}}}
	for i, r := range b.Rows {
		r.Seed, r.Image, r.AgentVersion, r.Network, r.Mleflow = fmt.Sprint(i), text, text, text, text
		r.Made = results.Made{Outcome: outcome.End(text), WallSeconds: new(80_000.0), Usage: &results.Usage{Model: text, InputTokens: new(1e6), OutputTokens: new(2e5), CostUSD: new(3.5 + float64(len(agent)))}}
		r.Verdict.Flags = []string{text}
		r.Check = found(text, "sample-copy")
		r.Report.Thresholds = grading.Thresholds{Gold: 0.99167, Silver: 0.98611, Bronze: 0.97222, Median: 0.96667}
		r.Snapshots = []results.Snapshot{{Seconds: 3000, Outcome: "invalid"}, {Seconds: 9000, Outcome: "scored", Score: new(0.6), Medal: "none"}, {Seconds: 40_000, Outcome: "scored", Score: new(0.98), Medal: "bronze"}, {Seconds: 70_000, Outcome: "scored", Score: new(0.95), Medal: "none"}}
		b.Disclosure.Attempts = append(b.Disclosure.Attempts, bundle.Attempt{Address: text, Competition: text, Agent: text, Command: []string{text}, Secrets: []string{text}, Network: bundle.Traffic{Policy: text, Allow: []string{text}, Hosts: []bundle.Host{{Host: text}}}})
	}
	return b
}

// found has a warning of one rule and a note of another, which was not applied.
func found(warns, notes string) *results.Check {
	return &results.Check{Rules: []string{warns}, Findings: []evidence.Finding{{Rule: warns, Severity: evidence.Warning}, {Rule: notes, Severity: evidence.Note}}}
}

// published builds a board of bundles with everything else that a page can show,
// writes it and returns its folder and pages.
func published(t *testing.T, text string, bundles ...*Bundle) (dir string, pages []string) {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	bundles = append(bundles, &Bundle{File: text, Refused: text})
	bundles[0].Rows[0].Check = found("grader-import", text)
	s, err := Build(Request{Title: "Digits " + text, Bundles: bundles, Catalog: catalog, Version: "test", Seeds: 4, Exclude: []string{"grader-import", "probing"}, Stops: []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour},
		Reported: []Reported{{Agent: text, Models: text, Low: new(35.9), LowSEM: new(1.8), All: new(17.1), Hours: text, Date: text, URL: "https://example.org/" + slug(text), Note: text}}})
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "site")
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".html") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, pages
}

func seen(t *testing.T, tab *browsertest.Tab, name string) {
	t.Helper()
	for _, fault := range tab.Faults() {
		t.Errorf("%s: %.400s", name, fault)
	}
}

// full reports whether MLEFLOW_BROWSER=full asks for every page in every form with
// every text.
func full() bool { return os.Getenv("MLEFLOW_BROWSER") == "full" }

// TestBoardInTheBrowser opens every page of a board from a disk and from a web
// server, in four forms. MLEFLOW_SHOTS names a folder for pictures, MLEFLOW_AXE the
// path of axe-core's axe.min.js.
func TestBoardInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	claimed := told("careful", "plain", 3, func(seed int) bool { return seed > 0 })
	for _, r := range claimed.Rows {
		r.Verdict.Standing, r.Verdict.Flags = verify.Claimed, nil
		r.Report.MadeUnder([]string{"isolation=none", "runtime=process", "task=own"})
	}
	for i := range claimed.Rows {
		claimed.Rows[i].Snapshots = []results.Snapshot{{Seconds: 5000, Outcome: "scored", Score: new(0.7 + 0.05*float64(i)), Medal: "none"}, {Seconds: 60_000, Outcome: "scored", Score: new(0.9 + 0.02*float64(i)), Medal: "none"}}
	}
	bare := made("bare", "reference", 2, never)
	for _, r := range bare.Rows {
		r.Report.Thresholds = claimed.Rows[0].Report.Thresholds
	}
	dir, pages := published(t, "plain", told("an agent with quite a long name", "plain", 4, always), claimed, bare)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	forms := browsertest.Forms()
	if !full() {
		forms = []browsertest.Form{forms[1], forms[2]} // each width and each theme once
	}
	for i, f := range forms {
		base := "file://" + dir + "/"
		if i%2 == 1 {
			base = server.URL + "/"
		}
		t.Run(f.Name, func(t *testing.T) {
			tab := b.Tab(f)
			for _, page := range pages {
				tab.Go(base + page)
				seen(t, tab, page)
				if shots := os.Getenv("MLEFLOW_SHOTS"); shots != "" {
					tab.Shot(filepath.Join(shots, "board-"+strings.ReplaceAll(page, "/", "-")+"-"+f.Name+".png"))
				}
			}
			// Every link leads to a page of the board.
			tab.Go(base + "index.html")
			for _, to := range []string{"agents/", "competitions/", "bundles/"} {
				tab.Click(fmt.Sprintf("main a[href^=%q]", to))
				tab.Wait(fmt.Sprintf("location.href.startsWith(%q) && document.querySelector('h1')", base+to))
				tab.Click("nav a")
				tab.Wait("/\\/(index.html)?$/.test(location.pathname) && document.querySelector('#bundles')")
			}
			seen(t, tab, "after links")
			for _, asked := range tab.Asked() {
				if !strings.HasPrefix(asked, base) && !strings.HasPrefix(asked, "about:") {
					t.Errorf("the pages ask for %s", asked)
				}
			}
		})
	}
}

// TestHostileBoardInTheBrowser opens boards full of hostile texts: no script of theirs
// runs.
func TestHostileBoardInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	tab := b.Tab(browsertest.Forms()[2])
	texts := append(hostiletest.Texts(), hostiletest.Text{Name: "sets a mark", Text: `"><script>window.owned=1</script><svg onload="window.owned=1"><img src=x onerror="window.owned=1">`},
		hostiletest.Text{Name: "address", Text: "javascript:window.owned=1"}, hostiletest.Text{Name: "end", Text: "</style></script><script>window.owned=1</script>"})
	for i, h := range texts {
		if i%16 != 0 && i < len(hostiletest.Texts()) && !full() {
			continue // without a browser, the corpus is tested on the parts that pages are made of
		}
		dir, pages := published(t, h.Text, told(h.Text, h.Text, 2, always), told("other "+h.Text, h.Text, 2, never))
		for _, page := range pages {
			tab.Go("file://" + dir + "/" + page)
			seen(t, tab, h.Name+" in "+page)
		}
	}
}
