package competitions_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
)

// small is a definition with nothing left out that is needed.
const small = `competition "small" {
  title       = "Small"
  complexity  = "low"
  description = "A small one."
  answers     = "private/test.csv"
  sample      = "public/sample.csv"
  source "kaggle" { slug = "small" }
  param "size" { default = 10 }
  locals {
    base    = lines("classes.txt")
    classes = concat(base, ["z"])
    unused  = 1
  }
  prepare {
    locals { rows = train_test_split(csv("a.csv"), { test_size = param.size }) }
  }
  grade {
    metric  = "log_loss"
    targets = classes
  }
  medals { scores = [0.9, 0.8, 0.7] }
  errata "v2" {
    reason    = "One class too few."
    reference = "https://example.org/1"
    locals { classes = ["a", "b", "c", "z"] }
  }
}
`

var smallFolder = fstest.MapFS{"classes.txt": {Data: []byte("a\nb\n")}, "board.txt": {Data: []byte("1\n0.5 x\n")}, "many.txt": {Data: []byte("1 999999999999\n")}}

func parse(t *testing.T, replace ...string) *competitions.Definition {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(small)
	if len(replace) > 0 && text == small {
		t.Fatalf("nothing was replaced: %q", replace)
	}
	def, diags := competitions.Parse([]byte(text), "small", smallFolder)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

func TestDiagnostics(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"misspelt attribute", "title       =", "titel       =", "small/competition.hcl:2,3-8: Unknown attribute titel; Did you mean title?"},
		{"missing attribute", `title       = "Small"`, "", `Missing attribute; Write title = "…".`},
		{"misspelt block", "medals {", "medal {", "small/competition.hcl:21,3-8: Unknown block medal; Did you mean medals?"},
		{"unknown complexity", `"low"`, `"easy"`, "Unknown complexity; Write one of [low medium high dev demo]."},
		{"month and day swapped", `title       = "Small"`, "title = \"Small\"\nopened = \"2019-25-03\"", `Not a day; Write year, month and day, such as "2019-03-25".`},
		{"closed before opened", `title       = "Small"`, "title = \"Small\"\nopened = \"2019-03-25\"\nclosed = \"2018-03-25\"", "Closed before it opened; Opened on 2019-03-25."},
		{"path outside", `"private/test.csv"`, `"../test.csv"`, `Not a prepared path; Write a path below public/ or private/`},
		{"wrong type", `title       = "Small"`, "title = [1]", "Wrong value for title; Expected a string: string required"},
		{"unknown source", `source "kaggle"`, `source "kagle"`, "Unknown source kagle; Did you mean kaggle?"},
		{"source attribute", `slug = "small"`, `url = "small"`, "Unknown attribute url"},
		{"malformed pin", `{ slug = "small" }`, "{\n slug = \"small\"\n md5 = \"12\"\n }", "Malformed MD5; A MD5 is 32 lower-case hexadecimal digits; this has 2 characters."},
		{"no scores", "scores = [0.9, 0.8, 0.7]", "", "read leaderboard: open leaderboard.txt"},
		{"broken leaderboard", "scores = [0.9, 0.8, 0.7]", `leaderboard = "board.txt"`, `line 2: "0.5 x" is not a score or a score and a count`},
		{"leaderboard that would fill the memory", "scores = [0.9, 0.8, 0.7]", `leaderboard = "many.txt"`, `line 1: "1 999999999999" is not a score or a score and a count`},
		{"null among the scores", "[0.9, 0.8, 0.7]", "[0.9, null]", "Wrong value for scores; Expected a list of number: it is null, or contains a null."},
		{"pins in the definition", "medals {", "checksums { public = { \"train.csv\" = \"x\" } }\n medals {", "Unknown block checksums; Pins are in checksums.lock next to the definition"},
		{"missing leaderboard", "scores = [0.9, 0.8, 0.7]", `leaderboard = "none.txt"`, "Cannot read leaderboard"},
		{"old attribute of an erratum", `errata "v2" {`, "errata \"v2\" {\n mends = [\"duplicates\"]", "Unknown attribute mends; It is called fixes now."},
		{"second version", `errata "v2"`, `errata "v1"`, "Version v1 exists"},
		{"no version", `errata "v2"`, `errata "../v2"`, "Wrong version ../v2; Versions are named v2, v3, …"},
		{"no grade", "grade {", "grad {", "Unknown block grad; Did you mean grade?"},
		{"second local", "unused  = 1", "unused  = 1\n }\n locals {\n base = 2", "Second local base; The first is at line 10."},
		{"parameter without default", "default = 10", "", "Missing default"},
		{"another name", `competition "small"`, `competition "tiny"`, `Name differs from folder; The competition is in folder "small"`},
		{"syntax", "title       =", "title       = =", "Invalid expression"},
		{"something else in the file", "competition \"small\"", "x = 1\ncompetition \"small\"", "Unexpected attribute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, diags := competitions.Parse([]byte(strings.Replace(small, tt.old, tt.new, 1)), "small", smallFolder)
			if !diags.HasErrors() {
				t.Fatal("no error")
			}
			for _, d := range diags {
				if strings.Contains(d.Error(), tt.want) {
					if d.Subject == nil || d.Subject.Filename != "small/competition.hcl" {
						t.Errorf("no place: %v", d)
					}
					return
				}
			}
			t.Errorf("got %v\nwant %s", diags, tt.want)
		})
	}
}

func TestEvalContext(t *testing.T) {
	def := parse(t)
	ctx, diags := def.EvalContext(map[string]cty.Value{"size": cty.StringVal("25")})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if got := ctx.Variables["param"].GetAttr("size"); !got.RawEquals(cty.NumberIntVal(25)) {
		t.Errorf("param.size is %#v", got)
	}
	if got := ctx.Variables["classes"].LengthInt(); got != 3 {
		t.Errorf("%d classes", got)
	}
	for name, params := range map[string]map[string]cty.Value{
		"Unknown parameter siz; Competition small: Did you mean size?": {"siz": cty.NumberIntVal(1)},
		"Wrong value of parameter size; Expected a number.":            {"size": cty.StringVal("many")},
	} {
		if _, diags := def.EvalContext(params); !strings.Contains(diags.Error(), name) {
			t.Errorf("got %v, want %s", diags, name)
		}
	}
	if _, diags := parse(t, `lines("classes.txt")`, "classes").EvalContext(nil); !strings.Contains(diags.Error(), "cycle") {
		t.Errorf("locals that form a cycle: %v", diags)
	}
}

// A name means one thing.
func TestNames(t *testing.T) {
	tests := []struct {
		name, old, new, want string
	}{
		{"prefix", "targets = classes", "targets = local.classes", "competition.hcl:19,15-28: Locals have no prefix; Write the name of the local alone"},
		{"local of both", "prepare {", "prepare {\nlocals { classes = 1 }", "Ambiguous name classes; the local here and the local at line 11 have the same name."},
		{"loop", "targets = classes", "targets = [for base in classes : base]", "Ambiguous name base; the variable of a for expression here and the local at line 10"},
		{"loop in a loop", "targets = classes", "targets = [for c in classes : [for c in classes : c]]", "Ambiguous name c; the variable of a for expression here and the variable of a for expression"},
		{"two loops", "targets = classes", "targets = concat([for c in classes : c], [for c in classes : c])", ""},
		{"loop in an erratum's block", "medals {", "errata \"v2\" {\nreason = \"r\"\nreference = \"https://x\"\nprepare {\nlocals {\n a = 1\n b = [for a in classes : a]\n}\n}\n}\nmedals {", "Ambiguous name a"},
		{"reserved", "unused  = 1", "param  = 1", "Reserved name param"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(small, tt.old) {
				t.Fatalf("%q is not in the definition", tt.old)
			}
			_, diags := competitions.Parse([]byte(strings.Replace(small, tt.old, tt.new, 1)), "small", smallFolder)
			if tt.want == "" && diags.HasErrors() || !strings.Contains(diags.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", diags, tt.want)
			}
		})
	}
}

func TestLockFile(t *testing.T) {
	sum := strings.Repeat("0", 32)
	tests := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"pins", "download \"kaggle\" {\n md5 = \"" + sum + "\"\n}\nprepared \"v1\" {\n public = { \"a.csv\" = \"" + sum + "\" }\n}\n", ""},
		{"garbled", "prepared \"v1\" {", "Damaged checksums.lock; small/checksums.lock cannot be read."},
		{"bytes", "\x00\xff", "Damaged checksums.lock"},
		{"another block", "pins {}", "small/checksums.lock:1,1-5: Unknown block pins"},
		{"null", "prepared \"v1\" { public = { \"a.csv\" = null } }", "small/checksums.lock:1,26-44: Wrong value for public"},
		{"short sum", "prepared \"v1\" { public = { \"a.csv\" = \"12\" } }", "Malformed MD5 of a.csv"},
		{"no such version", "prepared \"v3\" {}", "checksums.lock pins the files of v3; the competition has [v1 v2]."},
		{"twice", "prepared \"v1\" {}\nprepared \"v1\" {}", "Second block prepared v1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := fstest.MapFS{"checksums.lock": {Data: []byte(tt.text)}, "classes.txt": smallFolder["classes.txt"]}
			def, diags := competitions.Parse([]byte(small), "small", folder)
			if tt.want != "" {
				all := ""
				for _, d := range diags {
					all += d.Error() + "\n"
				}
				if !strings.Contains(all, tt.want) {
					t.Errorf("got %s\nwant %s", all, tt.want)
				}
				return
			}
			if diags.HasErrors() || def.LockMissing() != nil {
				t.Fatal(diags, def.LockMissing())
			}
			if len(tt.text) > 0 && (def.Sources[0].MD5 != sum || def.Checksums.Public["a.csv"] != sum) {
				t.Errorf("source %+v, pins %v", def.Sources[0], def.Checksums)
			}
		})
	}
	if err := parse(t).LockMissing(); err == nil || !strings.Contains(err.Error(), "small/checksums.lock is missing") {
		t.Errorf("no lock file: %v", err)
	}
	twice := strings.Replace(small, `{ slug = "small" }`, "{\n slug = \"small\"\n md5 = \""+sum+"\"\n }", 1)
	folder := fstest.MapFS{"checksums.lock": {Data: []byte(tests[1].text)}, "classes.txt": smallFolder["classes.txt"]}
	if _, diags := competitions.Parse([]byte(twice), "small", folder); !strings.Contains(diags.Error(), "Download pinned twice") {
		t.Errorf("pinned twice: %v", diags)
	}
}

// Every shipped definition has its pins next to it.
func TestShippedAreLocked(t *testing.T) {
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range cat.IDs() {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("shipped/" + id + "/" + competitions.LockName)
		if err != nil || len(def.Checksums.Pinned()) == 0 {
			t.Errorf("%s: %v, %d pins", id, err, len(def.Checksums.Pinned()))
		}
		if diff := cmp.Diff(string(competitions.FormatLock(def.Lock())), string(text)); diff != "" {
			t.Errorf("%s is not as it is written (-want +got):\n%s", id, diff)
		}
	}
}

func TestDigests(t *testing.T) {
	digests := func(def *competitions.Definition, params map[string]cty.Value) [2]string {
		t.Helper()
		prepare, diags := def.PrepareDigest(params)
		grade, more := def.GradeDigest(params)
		if diags = append(diags, more...); diags.HasErrors() {
			t.Fatal(diags)
		}
		return [2]string{prepare.String(), grade.String()}
	}
	was := digests(parse(t), nil)
	tests := []struct {
		name           string
		def            *competitions.Definition
		params         map[string]cty.Value
		prepare, grade bool
	}{
		{"nothing", parse(t), nil, false, false},
		{"title", parse(t, `"Small"`, `"Other"`), nil, false, false},
		{"a local that nobody reads", parse(t, "unused  = 1", "unused  = 2"), nil, false, false},
		{"a comment and blanks", parse(t, "prepare {", "prepare   {   # why"), nil, false, false},
		{"the prepare block", parse(t, `"a.csv"`, `"b.csv"`), nil, true, false},
		{"a parameter", parse(t), map[string]cty.Value{"size": cty.NumberIntVal(5)}, true, false},
		{"the grade block", parse(t, `"log_loss"`, `"accuracy"`), nil, false, true},
		{"a local that grading reads", parse(t, `["z"]`, `["y"]`), nil, false, true},
		{"the leaderboard", parse(t, "0.7]", "0.6]"), nil, false, true},
		{"the answers' place", parse(t, "private/test.csv", "private/answers.csv"), nil, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := digests(tt.def, tt.params)
			if changed := got[0] != was[0]; changed != tt.prepare {
				t.Errorf("prepare digest changed: %v", changed)
			}
			if changed := got[1] != was[1]; changed != tt.grade {
				t.Errorf("grade digest changed: %v", changed)
			}
		})
	}
}

// A block sees a local by any way of writing it, and files by lines.
func TestDigestsOfIndirectReferences(t *testing.T) {
	for _, expr := range []string{`[for c in classes : c]`, `param["size"]`, `[for name in ["size"] : param[name]][0]`, `values(param)[0]`} {
		was, diags := parse(t, "targets = classes", "targets = "+expr).GradeDigest(nil)
		is, more := parse(t, "targets = classes", "targets = "+expr, `["z"]`, `["y"]`, "default = 10", "default = 11").GradeDigest(nil)
		if diags = append(diags, more...); diags.HasErrors() {
			t.Fatal(diags)
		}
		if was == is {
			t.Errorf("%s: another value gives the same digest", expr)
		}
	}
	digest := func(files fstest.MapFS) string {
		text := strings.Replace(small, "targets = classes", `targets = lines("classes.txt")`, 1)
		def, diags := competitions.Parse([]byte(text), "small", files)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		sum, diags := def.GradeDigest(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return sum.String()
	}
	if digest(smallFolder) == digest(fstest.MapFS{"classes.txt": {Data: []byte("a\nc\n")}}) {
		t.Error("another file gives the same digest")
	}
}

func TestErrata(t *testing.T) {
	v1 := parse(t)
	v2, err := v1.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[*competitions.Definition]int{v1: 3, v2: 4} {
		ctx, diags := version.EvalContext(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := ctx.Variables["classes"].LengthInt(); got != want {
			t.Errorf("%s has %d classes, want %d", version.Version, got, want)
		}
	}
	if _, err := v1.At("v3"); err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Errorf("v3: %v", err)
	}
}

// A version prepares in another way only if the prepare block reads what it
// changes; otherwise the pins stay.
func TestErrataRemake(t *testing.T) {
	const read = `test_size = param.size`
	for name, c := range map[string]struct {
		instead, errata string
		want            string
	}{
		"read by grade only": {read, `locals { classes = ["a"] }`, "v1"},
		"read by prepare":    {`test_size = length(classes)`, `locals { classes = ["a"] }`, "v2"},
		"read through other": {`test_size = length(classes)`, `locals { base = ["a"] }`, "v2"},
		"prepare block":      {read, `prepare {}`, "v2"},
		"flags":              {read, `flags = ["crowded"]`, "v1"},
	} {
		v2, err := parse(t, read, c.instead, `locals { classes = ["a", "b", "c", "z"] }`, c.errata).At("v2")
		if err != nil {
			t.Fatal(err)
		}
		if got := v2.PinsVersion(); got != c.want {
			t.Errorf("%s: pins of %s, want %s", name, got, c.want)
		}
	}
}

func TestSets(t *testing.T) {
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[competitions.Set]int{}
	for _, name := range competitions.SetNames() {
		ids, err := cat.Set(competitions.Set(name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(ids) {
			t.Errorf("%s is not sorted", name)
		}
		sizes[competitions.Set(name)] = len(ids)
	}
	if sizes["low"] != 22 || sizes["lite"] != 22 || sizes["dev"] != 7 || sizes["demo"] != 2 || sizes["systemcard"] != 30 {
		t.Errorf("sets have %v members", sizes)
	}
	if sizes["all"] != sizes["low"]+sizes["medium"]+sizes["high"] {
		t.Errorf("all is not low, medium and high: %v", sizes)
	}
	if _, err := cat.Set("lo"); err == nil || !strings.Contains(err.Error(), `did you mean "low"`) {
		t.Errorf("unknown set: %v", err)
	}
	if _, err := cat.Get("leaf-clasification"); err == nil || !strings.Contains(err.Error(), `did you mean "leaf-classification"`) {
		t.Errorf("unknown competition: %v", err)
	}
}

// TestThresholds compares with testdata/thresholds.json, which holds what the
// reference's rank_score gives for its leaderboards.
func TestThresholds(t *testing.T) {
	data, err := os.ReadFile("testdata/thresholds.json")
	if err != nil {
		t.Fatal(err)
	}
	type thresholds struct {
		Teams  int     `json:"teams"`
		Lower  bool    `json:"is_lower_better"`
		Gold   float64 `json:"gold"`
		Silver float64 `json:"silver"`
		Bronze float64 `json:"bronze"`
		Median float64 `json:"median"`
	}
	want, got := map[string]thresholds{}, map[string]thresholds{}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for id := range want {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		m := def.Medals
		got[id] = thresholds{len(m.Scores), m.LowerIsBetter, m.Thresholds.Gold, m.Thresholds.Silver, m.Thresholds.Bronze, m.Thresholds.Median}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRank(t *testing.T) {
	m, err := competitions.NewMedals([]float64{0.1, 0.2, 0.2, 0.3, 0.4})
	if err != nil {
		t.Fatal(err)
	}
	for score, want := range map[float64]competitions.Standing{
		0.05: {Gold: true, AboveMedian: true, Rank: 1},
		0.1:  {Gold: true, AboveMedian: true, Rank: 1},
		0.15: {Bronze: true, AboveMedian: true, Rank: 2},
		0.2:  {Bronze: true, Rank: 2},
		0.25: {Rank: 4},
		0.5:  {Rank: 6},
	} {
		got := m.Rank(score)
		if got != want {
			t.Errorf("Rank(%v) = %+v, want %+v", score, got, want)
		}
	}
}

// TestShippedAreFormatted sees that mleflow fmt would leave every definition
// as it is.
func TestShippedAreFormatted(t *testing.T) {
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range cat.IDs() {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(hclwrite.Format(def.Source())), string(def.Source())); diff != "" {
			t.Errorf("%s: run mleflow fmt (-formatted +got):\n%s", id, diff)
		}
	}
}

// TestUnranked: without a leaderboard that tells the direction of scores, it is that of the
// metric, and no score earns anything.
func TestUnranked(t *testing.T) {
	const board = "medals { scores = [0.9, 0.8, 0.7] }"
	tests := []struct {
		name, metric, medals string
		lower, ranked        bool
	}{
		{"lower", `"log_loss"`, "", true, false},
		{"higher", `"accuracy"`, "", false, false},
		{"one team", `"log_loss"`, "medals { scores = [0.5] }", true, true},
		{"equal teams", `"log_loss"`, "medals { scores = [0.5, 0.5] }", true, true},
		{"the leaderboard tells", `"accuracy"`, board, false, true},
		{"external", `command({ command = ["sh"], better = "lower" })`, "", true, false},
		{"external, quoted", `command({ "command" = ["sh"], "better" = "lower" })`, "", true, false},
		{"by a local", `base[0]`, "", false, false},
		{"unknown", `"no such"`, "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(t, `"log_loss"`, tt.metric, board, tt.medals).Medals
			got := m.Rank(0.9)
			if m.LowerIsBetter != tt.lower || (got.Rank > 0) != tt.ranked || !tt.ranked && got != (competitions.Standing{}) {
				t.Errorf("lower is better: %v; %+v", m.LowerIsBetter, got)
			}
		})
	}
}
