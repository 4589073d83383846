package archtest

import (
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
	"testing"
)

// mapFile is the drawing in ARCHITECTURE.md.
const mapFile = "../../../../../docs/map.svg"

// boxes are the folders of the map, from top to bottom.
var boxes = []struct{ folder, colour, note string }{
	{"cmd/mleflow", "#ddf4ff", "the commands; only cmd joins concrete things"},
	{"steps", "#dafbe1", "one folder for each kind of step"},
	{"competitions", "#fbefff", "definitions, and the code that runs and checks them"},
	{"plugins", "#fff1e5", "all that steps and competitions call by name"},
	{"engine", "#fff8c5", "the language, the planner and the runner; knows no kind by name"},
	{"cache", "#f6f8fa", "content by digest, on disk and remote"},
	{"cache/digest", "#eaeef2", "ContentID, ActionID, the labelled hasher; standard library only"},
}

// edges are the arrows at x from one box to the next, with a note beside them.
var edges = []struct {
	x        int
	from, to string
	note     string
}{
	{160, "cmd/mleflow", "steps", ""},
	{160, "steps", "competitions", ""},
	{160, "competitions", "plugins", ""},
	{160, "plugins", "engine", "not plugins: from steps and competitions, and only bounded, diag and step"},
	{160, "engine", "cache", ""},
	{160, "cache", "cache/digest", ""},
}

// TestMap keeps docs/map.svg the map of today's packages.
func TestMap(t *testing.T) {
	var paths []string
	for _, p := range listed(t) {
		if name := p.path(); !strings.HasSuffix(name, "test") && name != "" {
			paths = append(paths, name)
		}
	}
	want := drawMap(paths)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(mapFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/map.svg is not the map of the packages, run make docs")
	}
}

// drawMap draws the boxes below each other, each as high as its packages need.
func drawMap(paths []string) string {
	const width, left, line, gap = 960, 20, 20, 34
	var b strings.Builder
	top, bottom, y := map[string]int{}, map[string]int{}, left
	for _, box := range boxes {
		var lines []string
		if names := children(paths, box.folder); len(names) > 0 {
			lines = wrap(names, 124)
		}
		height := 38 + len(lines)*line
		fmt.Fprintf(&b, "<rect class=\"b\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\"/>\n", left, y, width-2*left, height, box.colour)
		fmt.Fprintf(&b, "<text x=\"32\" y=\"%d\"><tspan class=\"t\">%s</tspan><tspan dx=\"10\" class=\"n\">%s</tspan></text>\n", y+24, box.folder, html.EscapeString(box.note))
		for i, text := range lines {
			fmt.Fprintf(&b, "<text x=\"32\" y=\"%d\">%s</text>\n", y+46+i*line, html.EscapeString(text))
		}
		top[box.folder], bottom[box.folder] = y, y+height
		y += height + gap
	}
	for _, e := range edges {
		fmt.Fprintf(&b, "<path class=\"a\" d=\"M%d %dV%d\" marker-end=\"url(#h)\"/>\n", e.x, bottom[e.from], top[e.to]-2)
		if e.note != "" {
			fmt.Fprintf(&b, "<text class=\"n\" x=\"%d\" y=\"%d\">%s</text>\n", e.x+12, bottom[e.from]+22, e.note)
		}
	}
	height := y - gap + left
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="The packages of mleflow; each may import those below it">
<style>
text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328;font-size:14px} .t{font-size:16px;font-weight:600} .n{fill:#57606a}
.b{stroke:#57606a} .a{stroke:#57606a;stroke-width:1.5;fill:none}
</style>
<defs><marker id="h" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path fill="#57606a" d="M0 0L8 4L0 8z"/></marker></defs>
<rect width="%d" height="%d" rx="8" fill="#fff"/>
%s</svg>
`, width, height, width, height, b.String())
}

// children names the packages below a folder; those that have others below them
// are followed by these in brackets. Folders with a box of their own are left out.
func children(paths []string, folder string) []string {
	var names []string
	for _, path := range paths {
		rest, ok := strings.CutPrefix(path, folder+"/")
		rest = strings.TrimPrefix(rest, "internal/")
		if name, _, _ := strings.Cut(rest, "/"); ok && folder+"/"+name != "cache/digest" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		for _, at := range []string{folder + "/" + name, folder + "/internal/" + name} {
			if inner := children(paths, at); len(inner) > 0 {
				names[i] += " (" + strings.Join(inner, ", ") + ")"
			}
		}
	}
	return names
}

// wrap joins names to lines of at most width characters.
func wrap(names []string, width int) (lines []string) {
	for i, word := range strings.Split(strings.Join(names, "\u00a0· "), " ") {
		if last := len(lines) - 1; i > 0 && len([]rune(lines[last]+word)) < width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
