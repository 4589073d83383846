package ui

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
)

// TestPaint prints the time to first paint of a run and of its attempts, the least of ten,
// and the weight of the pages: cold, of a server that has shown the list of runs alone, and
// warm. The server's is the time to a page of a server that has read nothing, without a
// browser. MLEFLOW_UI_ATTEMPTS is the number of attempts.
func TestPaint(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MLEFLOW_UI_ATTEMPTS"))
	if err != nil {
		t.Skip("MLEFLOW_UI_ATTEMPTS=5000 measures")
	}
	defer garbage.Grow(400)() // as mleflow ui does
	b := browsertest.Open(t)
	l := newLab(t)
	l.reports = true
	id := l.try("mlebench.hcl", l.start, trials(n))
	for name, path := range map[string]string{"run": "", "attempts": "/attempts"} {
		var cold, warm, server []int
		weight := ""
		for range 10 {
			l.ui = New(l.ctx, l.ui.Source)
			from := time.Now()
			l.get(runAddress(id) + path)
			server = append(server, int(time.Since(from).Milliseconds()))
			l.ui = New(l.ctx, l.ui.Source)
			base, first := l.serve()
			tab := b.Tab(browsertest.Forms()[0])
			tab.Go(first)
			for _, all := range []*[]int{&cold, &warm} {
				tab.Go(base + runAddress(id) + path)
				ms, _ := strconv.Atoi(tab.Run(paint))
				*all = append(*all, ms)
				tab.Wait("!document.querySelector('[data-live]')")
			}
			weight = tab.Run("performance.getEntriesByType('navigation')[0].decodedBodySize")
		}
		fmt.Printf("BenchmarkPaint/%s\t%d\t%d ms-cold\t%d ms-warm\t%d ms-server\t%s B\n", name, n, slices.Min(cold), slices.Min(warm), slices.Min(server), weight)
	}
}

// paint is a script whose value is the time to the first paint.
const paint = `new Promise(done => { const get = () => { const p = performance.getEntriesByName('first-contentful-paint')[0]; p ? done(Math.round(p.startTime)) : requestAnimationFrame(get); }; get(); })`
