package ui

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
)

// TestTablesInTheBrowser sorts, filters and scrolls a table of 1,000 attempts without
// loading the page again.
func TestTablesInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	id := l.try("many.hcl", l.start, trials(1000))
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Go(base + runAddress(id) + "/attempts")
	tab.Run("window.same = true")
	tab.Wait(`document.querySelectorAll('.grid tbody:not([aria-hidden]) tr').length === 100`)
	tab.Click(`.grid thead a[href*="sort=score"]`)
	tab.Wait(`location.search.includes('sort=score') && document.querySelector('[aria-sort=descending]')`)
	tab.Click(`.grid thead a[href*="sort=score"]`)
	tab.Wait(`document.querySelector('[aria-sort=ascending]') && document.querySelector('.grid tbody:not([aria-hidden]) tr td:nth-child(3)').innerText.startsWith('0.50')`)
	tab.Run(`document.querySelector('.grid').scrollTop = 1e9`)
	tab.Wait(`[...document.querySelectorAll('.grid tbody:not([aria-hidden]) tr')].at(-1)?.innerText.includes('timed out') && !document.querySelector('.blank') && document.querySelectorAll('.grid tr').length < 350`)
	tab.Run(`document.querySelector('.grid').scrollTop = document.querySelector('.grid').scrollHeight / 2`)
	tab.Wait(`!document.querySelector('.blank') && Math.abs(Number([...document.querySelectorAll('.grid tbody:not([aria-hidden]) tr')][50].cells[2].innerText) - 0.75) < 0.05`)
	tab.Run(`document.querySelector('[name=agent]').value = 'codex'; document.querySelector('[name=agent]').dispatchEvent(new Event('input', {bubbles: true}))`)
	tab.Wait(`location.search.includes('agent=codex') && location.search.includes('sort=score') && document.querySelector('.grid').dataset.total === '200' && document.querySelector('.grid').scrollTop === 0`)
	tab.Run(`document.querySelector('[data-acts]').click()`)
	tab.Wait(`document.activeElement.getAttribute('role') === 'menuitem' && document.querySelector('.menu').innerText.includes('Copy the command')`)
	tab.Key("Escape")
	tab.Wait(`document.activeElement.matches('[data-acts]')`)
	if tab.Run("window.same === true") != "true" {
		t.Error("the page was loaded again")
	}
	looked(t, tab, "a long table")
}

// TestPinsInTheBrowser scrolls a table sideways: pinned columns stay beside the first, with
// the widths of their texts, or fixed ones without the script.
func TestPinsInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	id := l.try("few.hcl", l.start, trials(20))
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Go(base + runAddress(id) + "/attempts")
	tab.Click(".drop > summary")
	tab.Wait("document.querySelector('.drop fieldset').style.left")
	for _, key := range []string{"cost", "reason"} {
		tab.Click("[name=pin][value=" + key + "]")
	}
	tab.Wait("location.search.includes('pin=cost') && location.search.includes('pin=reason') && document.querySelectorAll('thead .pin').length === 2")
	beside := `(() => {
		const grid = document.querySelector('.grid'), heads = [...grid.querySelectorAll('thead th')].slice(0, 3).map(th => th.getBoundingClientRect());
		grid.style.width = '700px';
		grid.scrollLeft = 150;
		return grid.scrollLeft === 150 && heads.every((at, i) => Math.abs(at.left - (i ? heads[i - 1].right : grid.getBoundingClientRect().left + 1)) < 2);
	})()`
	tab.Wait(beside)
	looked(t, tab, "pinned columns")
	tab.Run("document.documentElement.classList.remove('js'); document.querySelector('.grid > table').removeAttribute('style')")
	tab.Wait(beside + " && document.querySelector('thead .pin').offsetWidth === 12 * parseFloat(getComputedStyle(document.documentElement).fontSize)")
}

// TestPaletteInTheBrowser goes to an attempt by its name, from the keyboard alone.
func TestPaletteInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	id := l.try("few.hcl", l.start, trials(20))
	l.get("/agents")
	l.indexed()
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[2])
	tab.Go(first)
	tab.Go(base + "/runs")
	tab.Run(`document.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true, cancelable: true}))`)
	tab.Wait(`document.activeElement.matches('.palette input') && document.querySelectorAll('.palette [role=option]').length === 6`)
	tab.Type("codex leaf")
	tab.Wait(`document.querySelector('.palette [aria-selected=true]')?.innerText.includes('codex · leaf-classification · 0')`)
	looked(t, tab, "the palette")
	if dir := os.Getenv("MLEFLOW_SHOTS"); dir != "" {
		tab.Shot(filepath.Join(dir, "palette.png"))
	}
	tab.Key("ArrowDown")
	tab.Wait(`document.querySelector('.palette [aria-selected=true]').innerText.includes('Search names and logs')`)
	tab.Key("ArrowUp")
	tab.Key("Enter")
	tab.Wait(`location.pathname === '/step/` + id + `' && document.querySelector('h1').innerText.includes('codex · leaf-classification · 0')`)
	looked(t, tab, "an attempt")
	tab.Go(base + "/search?q=codex")
	looked(t, tab, "a search")
}
