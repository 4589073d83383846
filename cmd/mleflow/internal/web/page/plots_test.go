package page

import (
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

// plots draws one of each with a name and some values.
func plots(name string, v ...float64) map[string]template.HTML {
	people := People{ID: name, Gold: v[0], Silver: v[0], Bronze: v[0], Median: v[0], Human: v}
	scores := Distribution(people, []Row{{Name: name, Scores: v}})
	var moments []Moment
	var dots []Dot
	for i, x := range v {
		moments = append(moments, Moment{time.Duration(i) * time.Hour, x})
		dots = append(dots, Dot{Name: name, X: x, Y: v[0]})
	}
	return map[string]template.HTML{
		"distribution": scores.Plot,
		"curve":        Curves{People: people, Lines: []Line{{Name: name, Moments: moments}, {Name: name, Steps: true, Moments: moments}}, Marks: []time.Duration{time.Hour}}.Draw(),
		"intervals":    Intervals([]Estimate{{Name: name, Value: v[0], Lower: v[0], Upper: v[0], Known: true, Note: name}}, name),
		"scatter":      Scatter(dots, name, name),
		"graph":        Blocks{{Name: name, Tally: Tally{Total: 2, by: map[event.Status]int{event.Ran: 1}}}, {Name: "b", After: []string{name}}}.Graph(name, true),
		"timeline":     Timeline(time.Unix(0, 0), []Bar{{Address: name, Kind: name, Status: event.Ran, Started: time.Unix(1, 0), Duration: time.Second}}, []string{name}),
	}
}

// TestPlotsOfAnything draws values that have no place.
func TestPlotsOfAnything(t *testing.T) {
	for _, values := range [][]float64{{0.5}, {0, 0, 0}, {1, math.NaN(), math.Inf(1), 2}, {math.NaN()}, {1e300, -1e300}, {1e-300, 2e-300}} {
		for name, svg := range plots("x", values...) {
			if found := regexp.MustCompile(`(d|x|y|cx|cy|width)="[^"]*(NaN|Inf)[^"]*"`).FindString(string(svg)); found != "" {
				t.Errorf("%s of %v holds %s", name, values, found)
			}
		}
	}
}

// TestPlotsOfHostileNames puts hostile texts wherever a plot shows one.
func TestPlotsOfHostileNames(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		for name, svg := range plots(h.Text, 1, 2, 3) {
			if svg == "" {
				t.Errorf("%s: no %s", h.Name, name)
			}
			if err := hostiletest.HTML("<html><body>" + string(Clean([]byte(svg))) + "</body></html>"); err != nil {
				t.Errorf("%s in %s: %v", h.Name, name, err)
			}
		}
	}
}

// TestCurveIsUpsideDown draws better scores above worse ones, whichever they are.
func TestCurveIsUpsideDown(t *testing.T) {
	for _, lower := range []bool{false, true} {
		d := newCurves(Curves{People: People{LowerIsBetter: lower}}, curveWidth)
		d.y.include(0, 1)
		if above := d.y.at(1) < d.y.at(0); above == lower {
			t.Errorf("lower is better: %v, 1 is above 0: %v", lower, above)
		}
	}
}

func TestFrame(t *testing.T) {
	var file, served strings.Builder
	if err := (Frame{Title: "<t>", Policy: FilePolicy(), Body: "<main></main>"}).Write(&file); err != nil {
		t.Fatal(err)
	}
	if err := (Frame{Title: "t", Styles: []string{"/style.css"}, Scripts: []string{"/page.js"}, Nav: []Link{{"Runs", "/runs", true}}}).Write(&served); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;t&gt;", "<style>", "style-src &#39;sha256-"} {
		if !strings.Contains(file.String(), want) {
			t.Errorf("the file lacks %q", want)
		}
	}
	for _, unwanted := range []string{"<style", "Content-Security-Policy", `style="`} {
		if strings.Contains(served.String(), unwanted) {
			t.Errorf("the served page has %q", unwanted)
		}
	}
}

// TestOneLibrary sees that pages, reports and boards draw nothing themselves.
func TestOneLibrary(t *testing.T) {
	shape := regexp.MustCompile("<(svg xmlns|path|circle|rect|polyline)[^>]*%")
	for _, dir := range []string{"ui", "firstscreen", "site", "../view/outputs"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files (%v)", dir, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if found := shape.Find(text); found != nil {
				t.Errorf("%s draws %s: plots are those of package page", path, found)
			}
		}
	}
	own, err := os.ReadFile("plots.go")
	if err != nil || !shape.Match(own) {
		t.Errorf("what draws is not recognized (%v)", err)
	}
}
