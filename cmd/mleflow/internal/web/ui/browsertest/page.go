package browsertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Axe is the environment variable with the path of axe.min.js of axe-core.
const Axe = "MLEFLOW_AXE"

// HasAxe reports whether there is an axe-core.
func HasAxe() bool {
	_, err := os.Stat(os.Getenv(Axe))
	return err == nil
}

// Violations returns what axe-core finds of serious or critical impact, a line
// each; nothing without axe-core.
func (t *Tab) Violations() (found []string) {
	t.b.t.Helper()
	script, err := os.ReadFile(os.Getenv(Axe))
	if err != nil {
		return nil
	}
	t.call("Runtime.evaluate", map[string]any{"expression": string(script)})
	// axe says nothing of contrast on a gradient.
	t.Run("document.styleSheets[0]?.insertRule('.card.scroll, .card > .scroll, .grid { background: var(--card) !important }', 0)")
	defer t.Run("document.styleSheets[0]?.deleteRule(0)")
	text := t.Run(`axe.run({resultTypes: ['violations']}).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message || '')).slice(0, 3).join(' | ')))`)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.b.t.Fatalf("axe: %s", strings.TrimSpace(text))
	}
	return found
}

//go:embed layout.js
var layout string

// Layout returns what is wrong with the layout: text that is cut off or not isolated from
// text of another direction, labels that collide, columns without space, small controls.
func (t *Tab) Layout() (found []string) {
	t.b.t.Helper()
	text := t.Run(layout)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.b.t.Fatalf("layout: %s", text)
	}
	return found
}

// Faults returns what is wrong with the page that is shown: what the browser
// complained of, scripts that ran or could run besides the page's own /page.js, what is
// wider than the window, its layout, and what axe-core finds.
func (t *Tab) Faults() []string {
	t.b.t.Helper()
	faults := t.Said()
	if ran := t.Run("String(window.owned || document.documentElement.dataset.owned || '')"); ran != `""` {
		faults = append(faults, "a script ran")
	}
	if n := t.Run("document.querySelectorAll('script:not([src$=\"/page.js\"]), [onerror], [onload], [onclick], iframe, object, embed, img, a[href^=\"javascript:\" i]').length"); n != "0" {
		faults = append(faults, n+" elements may run a script")
	}
	if wide := t.Run("Math.max(0, document.documentElement.scrollWidth - innerWidth)"); wide != "0" {
		faults = append(faults, "the page is "+wide+" pixels wider than the window")
	}
	if t.Run("[...document.querySelectorAll('pre, bdi')].some(e => e.textContent.length > 500000)") == "true" {
		return faults // what follows takes minutes for a megabyte on a line, and looks at the same elements
	}
	faults = append(faults, t.Layout()...)
	for _, v := range t.Violations() {
		faults = append(faults, fmt.Sprintf("axe: %s", v))
	}
	return faults
}
