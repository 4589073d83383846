package e2e

import (
	"archive/zip"
	"bytes"
	"cmp"
	littleendian "encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// surface is a place at which results are shown: a command, a format, a page.
type surface struct {
	// name is that of the command, with "page " the path of a page, with "python " the name of a
	// function of the package.
	name string
	// of names the attempts, those of the run main by default.
	of    string
	shows []fact
	// because says why the other facts are not shown.
	because string
	ask     func(t *testing.T) answer
}

// The reasons for which surfaces show few facts or none.
const (
	noResults   = "it shows no results of attempts"
	aTable      = "a table of attempts compares none: figures, places and letters follow from its columns"
	otherFormat = "the format of another tool has its own facts"
	asEvents    = "it is the journal, before anything is made of it"
	ofOneStep   = "it is of one attempt"
	ofFiles     = "it is about files and digests"
	ofMany      = "it lists more than attempts; each links to those that it counts"
)

// surfaces are all of them. One that is new is in no list, which fails; see checkListed.
func (p *plantation) surfaces() (list []surface) {
	attempts := []fact{ofEnd, ofReason, ofScore, ofMedal, ofCost}
	figures := []fact{ofClasses, ofShare, ofPlace, ofReach}
	list = []surface{
		{name: "show", shows: append(figures, ofDistinct, ofDifference), because: "of attempts it shows those with a problem", ask: p.text("show", p.main, "--full")},
		{name: "leaderboard", shows: figures, because: "it is of agents", ask: p.text("leaderboard", p.main)},
		{name: "leaderboard --json", shows: []fact{ofShare, ofPlace, ofClasses}, because: "it is of agents", ask: p.json("leaderboard", p.main, "--json")},
		{name: "leaderboard --table runs", shows: []fact{ofScore, ofMedal, ofCost}, because: aTable + "; an end stands in place of a score only", ask: p.text("leaderboard", p.main, "--table", "runs", "--full")},
		{name: "leaderboard of all runs", of: "all", shows: []fact{ofUnlisted, ofShare, ofPlace}, because: "it is of agents", ask: p.text("leaderboard", p.main, p.again, p.rehearsed, p.masked, p.origin, p.fork, p.failing)},
		{name: "leaderboard of two agents", shows: []fact{ofDifference}, because: "it is of two agents of a class, which must be named", ask: p.text("leaderboard", p.main, "--agent", "better", "--against-agent", "worse", "--class", "time=5m")},
		{name: "leaderboard of a run twice", shows: []fact{ofShare}, because: "it is of agents", ask: p.text("leaderboard", p.main, p.again)},
		{name: "show without --full", shows: append(figures, ofDistinct, ofDifference), because: "of attempts it shows those with a problem", ask: p.text("show", p.main)},
		{name: "show --json", because: asEvents},
		{name: "attempts-list", shows: []fact{ofEnd, ofReason, ofMedal}, because: "it has the attempts of one run as they stand, with exact scores", ask: p.json("attempts", "list", p.main, "--json")},
		{name: "runs", because: ofMany},
		{name: "diff", because: "it compares the steps of two runs"},
		{name: "export csv", shows: append(attempts, ofDistinct, ofClasses, ofSource, ofReach), because: aTable, ask: p.csv(p.main)},
		{name: "export csv of two runs", shows: append(attempts, ofDistinct, ofClasses, ofSource, ofReach), because: aTable, ask: p.csv(p.main, p.again)},
		{name: "export json", shows: append(attempts, ofDistinct, ofClasses, ofSource, ofReach), because: aTable, ask: p.exported("json")},
		{name: "export parquet", shows: append(attempts, ofClasses), because: aTable, ask: p.binary("parquet")},
		{name: "export arrow", shows: append(attempts, ofClasses), because: aTable, ask: p.binary("arrow")},
		{name: "export-inspect", shows: append(attempts, ofDistinct, ofClasses, ofSource, ofReach), because: aTable, ask: p.inspect()},
		{name: "report", shows: append(figures, ofDistinct, ofReason, ofMedal, ofDifference), because: "a score stands in place of its end, rounded", ask: p.report(p.main)},
		{name: "board-build", shows: figures, because: "it is of agents", ask: p.site()},
		{name: "page /runs/{run}", shows: append(figures, ofDistinct, ofDifference), because: "of attempts it shows those with a problem", ask: p.page("/runs/" + p.main)},
		{name: "page /runs/{run}/attempts", shows: append(attempts, ofDistinct, ofReach), because: aTable, ask: p.page("/runs/" + p.main + "/attempts")},
		{name: "page /attempts", of: "seen", shows: []fact{ofEnd, ofReason, ofScore, ofMedal, ofDistinct, ofReach}, because: aTable + "; the cost is on the pages of runs", ask: p.page("/attempts")},
		{name: "page /agents", of: "all", shows: []fact{ofClasses, ofShare, ofReach}, because: "it has a row for each agent, program and class", ask: p.page("/agents")},
		{name: "page /agent", of: "all", shows: []fact{ofReach}, because: "it is of one agent", ask: p.page("/agent?name=better")},
		{name: "page /compare", of: "all", shows: []fact{ofDifference, ofAside}, because: "it is of two sides in one class", ask: p.compared()},
		{name: "show of a fork", of: "forked", shows: []fact{ofAside}, because: "no figure has an attempt that does not count", ask: p.text("show", p.fork)},
		{name: "report of a provider's failure", of: "failing", shows: []fact{ofAside}, because: "no figure has an attempt that does not count", ask: p.report(p.failing)},
		{name: "page of a fork's run", of: "forked", shows: []fact{ofAside}, because: "no figure has an attempt that does not count", ask: p.page("/runs/" + p.fork)},
		{name: "show of a killed run", of: "killed", shows: []fact{ofEnd}, because: "it is about the attempt that did not end", ask: p.text("show", p.killed)},
		{name: "page of a killed run", of: "killed", shows: []fact{ofEnd}, because: "it is about the attempt that did not end", ask: p.page("/runs/" + p.killed + "/attempts")},
		{name: "page of a provider's failure", of: "failing", shows: append(attempts, ofDistinct), because: aTable, ask: p.page("/runs/" + p.failing + "/attempts")},
		{name: "page of a fork", of: "forked", shows: append(attempts, ofDistinct), because: aTable, ask: p.page("/runs/" + p.fork + "/attempts")},
		{name: "export of a provider's failure", of: "failing", shows: append(attempts, ofDistinct, ofClasses, ofReach), because: aTable, ask: p.csv(p.failing)},
		{name: "export of all", of: "all", shows: append(attempts, ofDistinct, ofClasses, ofReach), because: aTable, ask: p.csv(p.main, p.again, p.rehearsed, p.masked, p.origin, p.fork, p.failing)},
		{name: "python scores", shows: append(attempts, ofDistinct, ofClasses, ofSource, ofReach), because: aTable, ask: p.python(`json.dump(mleflow.Run(run).scores("records"), sys.stdout, default=str)`)},
		{name: "python figures", shows: []fact{ofShare}, because: "it is of agents, and a class without a complete seed has no figures", ask: p.python(`json.dump(mleflow.Run(run).board().figures("records"), sys.stdout, default=str)`)},
		{name: "python leaderboard", shows: []fact{ofClasses, ofShare, ofPlace}, because: "it is of agents", ask: p.python(`json.dump(mleflow.Run(run).leaderboard("records"), sys.stdout, default=str)`)},
	}
	none := func(because string, names ...string) {
		for _, name := range names {
			list = append(list, surface{name: name, because: because})
		}
	}
	none(noResults, "attempts-cancel", "attempts-extend", "attempts-requeue", "attempts-stop", "runs-continue", "runs-drain", "runs-set", "serve-token", "wait", "cache-gc", "cache-info", "cache-ls", "cache-pin", "cache-pull", "cache-push", "cache-repair", "cache-verify", "competition-leaderboard", "competition-lint",
		"competition-import", "competition-list", "competition-lock", "competition-new", "competition-rank", "competition-rehearsal", "competition-show", "competition-test", "doctor", "notify-test", "explain",
		"export-harbor", "fingerprint-build", "fingerprint-compare", "graph", "init", "lock", "mask-data", "mask-salt", "plan", "prepare", "runs-pause", "runs-remove", "validate", "version")
	none(asEvents, "apply", "rehearse")
	none(ofOneStep, "logs", "export-atif", "grade-sample", "import-atif", "import-inspect", "page /step/{run}", "page /turns/{run}")
	none(ofFiles, "audit", "bundle", "verify", "get", "output", "grade", "export-run-group")
	none(otherFormat, "export-otel")
	none(ofMany, "page /runs", "page /runs/{run}/steps", "page /runs/{run}/about", "page /competitions", "page /competitions/{id}", "page /search", "page /find")
	none(noResults, "page /", "page /{$}", "page /help", "page /style.css", "page /favicon.ico", "page /page.js", "page /runs/{run}/describe")
	none("each trajectory has the row of its attempt in export", "export-trajectories")
	none("it is the report", "page /runs/{run}/report")
	none(noResults, "python Attempt", "python Diagnostic", "python Error", "python Event", "python Frame", "python NotInstalled", "python Position", "python Record", "python RunWarning",
		"python __version__", "python apply", "python binary", "python competitions", "python grade", "python prepare", "python rehearse", "python runs", "python version")
	none("its methods scores and leaderboard are in this list", "python Run", "python Leaderboard")
	none("it asks a server, whose answers are those of runs, attempts list and leaderboard", "python connect", "python Server", "python Submission")
	none("each has the row of its attempt in export, or the server's result of it", "python Rollout", "python Trajectory", "python Turn")
	none("it is diff", "python Comparison", "python compare")
	none("it writes scores", "python export_eval_results", "python export_mlflow", "python export_trackio", "python export_wandb")
	return list
}

// checkListed compares the list with what there is: the commands that have JSON, the formats of
// export, the pages, the names of the Python package.
func checkListed(t *testing.T, list []surface) {
	names, explained := map[string]bool{}, map[fact]bool{}
	for _, s := range list {
		if names[s.name] {
			t.Errorf("%s is in the list twice", s.name)
		}
		names[s.name] = true
		for _, f := range s.shows {
			explained[f] = true
		}
		if (s.because == "") != (len(s.shows) == len(facts)) || (s.ask == nil) != (len(s.shows) == 0) {
			t.Errorf("%s shows %v, others not because %q", s.name, s.shows, s.because)
		}
	}
	for _, f := range facts {
		if !explained[f] {
			t.Errorf("no surface shows %s", f)
		}
	}
	listed := func(name, where string) {
		if !names[name] {
			t.Errorf("%s has %s, which is not in the list of surfaces: say which facts it shows, and why it does not show the others", where, name)
		}
	}
	root := "../../../../.."
	schemas, err := filepath.Glob(root + "/docs/schemas/*.json")
	if err != nil || len(schemas) < 40 {
		t.Fatalf("%d schemas: %v", len(schemas), err)
	}
	for _, path := range schemas {
		if name := strings.TrimSuffix(filepath.Base(path), ".json"); name != "export" { // its formats are
			listed(name, "docs/schemas")
		}
	}
	for _, format := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(matched(t, root+"/cmd/mleflow/internal/cli/export/export.go", `formats := \[\]string\{(.*)\}`), -1) {
		listed("export "+format[1], "export")
	}
	routes := matched(t, root+"/cmd/mleflow/internal/web/ui/server.go", `(?s)\nfunc \(u \*UI\) routes\(\) \{(.*?)\n\}`)
	pages := regexp.MustCompile(`"((?:POST )?/[^"]*)"(?:: u\.|, |\+)`).FindAllStringSubmatch(routes, -1)
	if len(pages) < 20 {
		t.Fatalf("routes %q", pages)
	}
	for _, page := range pages {
		if path, post := strings.CutPrefix(page[1], "POST "); post {
			listed("page "+path+"/describe", "ui")
		} else {
			listed("page "+path, "ui")
		}
	}
	exported := matched(t, root+"/python/mleflow/src/mleflow/__init__.py", `(?s)__all__ = \[(.*?)\]`)
	for _, name := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(exported, -1) {
		listed("python "+name[1], "the Python package")
	}
}

// matched is what a pattern finds in a file.
func matched(t *testing.T, path, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	found := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
	if err != nil || found == nil {
		t.Fatalf("%s has no %s: %v", path, pattern, err)
	}
	return found[1]
}

// words folds white space, so that a text that is wrapped is found.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// lines is the answer of a text whose lines are rows.
func linesOf(text string) answer {
	a := answer{text: words(text)}
	for line := range strings.Lines(text) {
		a.rows = append(a.rows, words(line))
	}
	return a
}

// out runs the program.
func (p *plantation) out(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := p.both(t, args...)
	return out
}

// both runs the program, and returns both of its outputs.
func (p *plantation) both(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	out, errs, code := p.run(args...)
	if code != 0 {
		t.Fatalf("%v: exit %d\n%s", args, code, errs)
	}
	return out, errs
}

func (p *plantation) text(args ...string) func(*testing.T) answer {
	return func(t *testing.T) answer {
		out, errs := p.both(t, args...)
		return linesOf(out + errs)
	}
}

// json makes a row of each object, with its names and those within.
func (p *plantation) json(args ...string) func(*testing.T) answer {
	return func(t *testing.T) answer { return objectsOf(t, p.out(t, args...)) }
}

func objectsOf(t *testing.T, text string) (a answer) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	var walk func(v any) string
	walk = func(v any) string {
		var parts []string
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				parts = append(parts, name+" "+walk(v[name]))
			}
			a.rows = append(a.rows, words(strings.Join(parts, "; ")))
		case []any:
			for _, e := range v {
				parts = append(parts, walk(e))
			}
		default:
			return words(fmt.Sprint(v))
		}
		return strings.Join(parts, "; ")
	}
	walk(v)
	return a
}

// columns makes rows of a table: first the names of the attempt, then each column with its
// name. Percentages and the like are not in such a table, so there is no text.
func columns(header []string, rows [][]string) (a answer) {
	for _, row := range rows {
		cell := map[string]string{}
		text := ""
		for i, name := range header {
			if cell[name] = row[i]; row[i] != "" {
				text += "; " + name + " " + row[i]
			}
		}
		a.rows = append(a.rows, cell["agent"]+" "+cell["competition"]+" "+cell["seed"]+text)
	}
	return a
}

func (p *plantation) csv(runs ...string) func(*testing.T) answer {
	return func(t *testing.T) answer {
		rows, err := csv.NewReader(strings.NewReader(p.out(t, append([]string{"export", "--format", "csv"}, runs...)...))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return columns(rows[0], rows[1:])
	}
}

func (p *plantation) exported(format string) func(*testing.T) answer {
	return func(t *testing.T) answer { return recordsOf(t, p.out(t, "export", "--format", format, p.main)) }
}

// recordsOf reads an array of objects, one an attempt.
func recordsOf(t *testing.T, text string) (a answer) {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	for _, one := range list {
		row := fmt.Sprint(one["agent"], " ", one["competition"], " ", one["seed"])
		for _, name := range slices.Sorted(maps.Keys(one)) {
			if v := one[name]; v != nil && v != "" {
				row += fmt.Sprint("; ", name, " ", v)
			}
		}
		a.rows = append(a.rows, row)
	}
	return a
}

// binary compares a binary format, which only programs of others read, with that of CSV: it has
// the bytes of each value. TestNotebooks reads it with such programs.
func (p *plantation) binary(format string) func(*testing.T) answer {
	return func(t *testing.T) answer {
		path := filepath.Join(t.TempDir(), "table."+format)
		p.out(t, "export", p.main, "-o", path)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.collected(p.main) {
			ended, _ := a.Ended()
			for _, text := range []string{a.Agent, a.Competition(), a.Class(), ended, a.NoScore(), a.Reason()} {
				if !bytes.Contains(data, []byte(text)) {
					t.Errorf("%s has no %q", format, text)
				}
			}
			for _, n := range []*float64{(*float64)(a.Report.Score), a.Made.Usage.CostUSD} {
				if n != nil && !bytes.Contains(data, littleendian.LittleEndian.AppendUint64(nil, math.Float64bits(*n))) {
					t.Errorf("%s has no %v", format, *n)
				}
			}
		}
		return p.csv(p.main)(t)
	}
}

// inspect reads the samples of the logs of Inspect, which the Python package writes.
func (p *plantation) inspect() func(*testing.T) answer {
	return func(t *testing.T) (a answer) {
		if python := os.Getenv("MLEFLOW_PYTHON"); python == "" || exec.Command(python, "-I", "-c", "import mleflow._inspect").Run() != nil {
			t.Skip("it is not asked: MLEFLOW_PYTHON names no Python that has mleflow[inspect]")
		}
		dir := filepath.Join(t.TempDir(), "logs")
		p.out(t, "export", "inspect", p.main, "-o", dir)
		logs, err := filepath.Glob(filepath.Join(dir, "*.eval"))
		if err != nil || len(logs) != 2 {
			t.Fatalf("%d logs: %v", len(logs), err)
		}
		var list []json.RawMessage
		for _, path := range logs {
			z, err := zip.OpenReader(path)
			if err != nil {
				t.Fatal(err)
			}
			defer z.Close()
			samples, err := fs.Glob(z, "samples/*.json")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range samples {
				var s struct{ Metadata json.RawMessage }
				text, err := fs.ReadFile(z, name)
				if err == nil {
					err = json.Unmarshal(text, &s)
				}
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, s.Metadata)
			}
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		return recordsOf(t, string(text))
	}
}

var (
	unseen = regexp.MustCompile(`(?s)<(script|style|svg|select|title)\b.*?</(script|style|svg|select|title)>`)
	rowEnd = regexp.MustCompile(`</(tr|p|div|h\d|li|section|dd|summary)>`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// shown is what a person sees of a page.
func shown(page []byte) answer {
	text := unseen.ReplaceAllString(string(page), " ")
	text = rowEnd.ReplaceAllString(strings.ReplaceAll(text, "\n", " "), "\n")
	return linesOf(html.UnescapeString(tag.ReplaceAllString(text, " ")))
}

func (p *plantation) report(run string) func(*testing.T) answer {
	return func(t *testing.T) answer {
		path := filepath.Join(t.TempDir(), "run.html")
		p.out(t, "report", run, "-o", path)
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		a, competition := shown(page), ""
		for i, row := range a.rows { // attempts stand below their competition
			competition = cmp.Or(regexp.MustCompile(`\bdemo-\w+$`).FindString(row), competition)
			a.rows[i] = regexp.MustCompile(`^(better|worse) (\d)`).ReplaceAllString(row, "$1 "+competition+" $2")
		}
		return a
	}
}

// site builds a site of the bundle of the run.
func (p *plantation) site() func(*testing.T) answer {
	return func(t *testing.T) answer {
		dir := t.TempDir()
		p.out(t, "bundle", p.main, "-o", filepath.Join(dir, "run.bundle"))
		out, errs, code := p.run("board", "build", filepath.Join(dir, "run.bundle"), "-o", filepath.Join(dir, "site"), "--data-dir", filepath.Join(p.dir, "data"))
		if code != 0 && code != 6 { // submissions that are the answers are suspicious
			t.Fatalf("exit %d\n%s%s", code, out, errs)
		}
		page, err := os.ReadFile(filepath.Join(dir, "site", "index.html"))
		if err != nil {
			t.Fatal(err)
		}
		return shown(page)
	}
}

// client opens the pages, once all results are read.
func (p *plantation) client(t *testing.T) (base string, get func(path string) []byte) {
	t.Helper()
	if p.first == "" {
		p.base, p.first = p.pages()
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	get = func(address string) []byte {
		res, err := c.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d: %v", address, res.StatusCode, err)
		}
		return body
	}
	get(p.first)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) { // the index of all results is built meanwhile
		if !bytes.Contains(get(p.base+"/attempts"), []byte("so far")) {
			return p.base, get
		}
		if time.Now().After(end) {
			t.Fatal("the pages do not have all results after a minute")
		}
	}
}

func (p *plantation) page(path string) func(*testing.T) answer {
	return func(t *testing.T) answer {
		base, get := p.client(t)
		return shown(get(base + path))
	}
}

// compared opens the page that compares the two agents, by the names of its own form.
func (p *plantation) compared() func(*testing.T) answer {
	return func(t *testing.T) answer {
		base, get := p.client(t)
		form := string(get(base + "/compare"))
		query := url.Values{}
		for i, field := range regexp.MustCompile(`(?s)<select[^>]*name="?(\w+)"?[^>]*>(.*?)</select>`).FindAllStringSubmatch(form, 2) {
			agent := []string{"better", "worse"}[i]
			option := regexp.MustCompile(`<option[^>]*value="?([^">]*` + agent + `[^">]*)"?[^>]*>`).FindStringSubmatch(field[2])
			if option == nil {
				t.Fatalf("the form has no option for %s: %.400s", agent, field[2])
			}
			query.Add(field[1], html.UnescapeString(option[1]))
		}
		return shown(get(base + "/compare?" + query.Encode()))
	}
}

// python runs lines of the Python package.
func (p *plantation) python(lines string) func(*testing.T) answer {
	return func(t *testing.T) answer {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("python3 is not installed")
		}
		source, err := filepath.Abs("../../../../../python/mleflow/src")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", "import json, sys, mleflow\nrun = sys.argv[1]\n"+lines, p.main)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "PYTHONDONTWRITEBYTECODE=1", "MLEFLOW_BINARY="+binary, "MLEFLOW_CACHE_DIR="+p.cache)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		return recordsOf(t, string(out))
	}
}
