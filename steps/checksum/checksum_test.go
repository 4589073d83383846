package checksum_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/checksum"
	"github.com/mleflow/mleflow/steps/steptest"
)

// MD5 sums by md5sum of coreutils 9.1.
const (
	md5A     = "60b725f10c9c85c70d97880dfe8191b3" // "a\n", which no file holds
	md5Hello = "5d41402abc4b2a76b9719d911017c592" // "hello"
	md5World = "7d793037a0760186574b0282f2f435e7" // "world"
)

func newBench(t *testing.T, checksums string) *steptest.Bench {
	t.Helper()
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  prepare {}
	  grade { metric = "accuracy" }
	  medals { scores = [1, 0.5] }
	}`)}, "toy/checksums.lock": {Data: []byte("prepared \"v1\" {\n" + checksums + "\n}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(checksum.Kind(cat))
}

func values(t *testing.T, b *steptest.Bench) map[string]cty.Value {
	return map[string]cty.Value{
		"competition": cty.StringVal("toy"),
		"prepared": cty.ObjectVal(map[string]cty.Value{
			"public": b.Tree(t, map[string]string{"train.csv": "hello", "deep/x.csv": "world"}), "private": b.Tree(t, map[string]string{"test.csv": "world"}),
		}),
	}
}

const goodPins = `public = { "train.csv" = "` + md5Hello + `", "deep/x.csv" = "` + md5World + `" }
	private = { "test.csv" = "` + md5World + `" }`

func TestMatch(t *testing.T) {
	b := newBench(t, goodPins)
	args := values(t, b)
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	var report pins.Report
	steptest.Decode(t, out["report"], &report)
	if report.Pinned != 3 || report.Matched != 3 || len(report.Mismatches) != 0 || len(b.Warnings()) != 0 {
		t.Errorf("report %+v, warnings %q", report, b.Warnings())
	}
	if got := b.Files(t, out["private"].Ref); got["test.csv"] != "world" {
		t.Errorf("private files: %v", got)
	}
	// The manifest that was found is the one that matches.
	pinned := newBench(t, goodPins+"\nmanifest = \""+report.Manifest+"\"")
	if _, err := pinned.Run(t, values(t, pinned)); err != nil {
		t.Errorf("the manifest's own digest does not match: %v", err)
	}
	if cmp.Equal(b.Key(t, args), pinned.Key(t, args)) {
		t.Error("pins change the result and not the key")
	}
}

func TestMismatch(t *testing.T) {
	zero := strings.Repeat("0", 64)
	b := newBench(t, `public = { "train.csv" = "`+md5A+`", "deep/x.csv" = "`+md5World+`", "none.csv" = "`+md5A+`", "deep" = "`+md5A+`" }
	private = { "test.csv" = "`+md5A+`" }
	manifest = "`+zero+`"`)
	_, err := b.Run(t, values(t, b))
	if !errors.Is(err, step.ErrMismatch) {
		t.Fatalf("got %v, want a mismatch", err)
	}
	for _, want := range []string{
		"toy: the files do not match the pins (",
		"(3 wrong, 2 missing)",
		"private/test.csv: want MD5 " + md5A + ", got MD5 " + md5World + ", 5 bytes",
		"public/train.csv: want MD5 " + md5A + ", got MD5 " + md5Hello + ", 5 bytes",
		"public/none.csv: missing (want MD5 " + md5A + ")",
		"public/deep: missing (want MD5 " + md5A + ")",
		"manifest of all files: want SHA-256 " + zero,
		"there is nothing to compare with",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	args := values(t, b)
	args["on_mismatch"] = cty.StringVal("warn")
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatalf("on_mismatch = warn: %v", err)
	}
	var report pins.Report
	steptest.Decode(t, out["report"], &report)
	if len(report.Mismatches) != 5 || report.Matched != 1 || len(b.Warnings()) != 1 {
		t.Errorf("report %+v, warnings %q", report, b.Warnings())
	}
}

func TestNoPins(t *testing.T) {
	b := newBench(t, "")
	if _, err := b.Run(t, values(t, b)); err != nil {
		t.Fatal(err)
	}
	if len(b.Warnings()) != 1 || !strings.Contains(b.Warnings()[0], "no pins") {
		t.Errorf("warnings: %q", b.Warnings())
	}
}

func TestNotATree(t *testing.T) {
	b := newBench(t, goodPins)
	args := values(t, b)
	args["prepared"] = cty.ObjectVal(map[string]cty.Value{"public": b.Blob(t, "x"), "private": b.Tree(t, nil)})
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "not a tree") {
		t.Errorf("got %v", err)
	}
}

// trees returns prepared data with this training table.
func trees(t *testing.T, b *steptest.Bench, train string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"public":  b.Tree(t, map[string]string{"train.csv": train, "deep/x.csv": "world"}),
		"private": b.Tree(t, map[string]string{"test.csv": "world"}),
	})
}

const table = "id,x\n1,2\n3,4\n"

// TestExplained compares with data that are known to be right.
func TestExplained(t *testing.T) {
	b := newBench(t, `public = { "train.csv" = "`+md5A+`" }`)
	args := map[string]cty.Value{"competition": cty.StringVal("toy"), "prepared": trees(t, b, "id,x\n1,2\n3,5\n"), "expected": trees(t, b, table)}
	_, err := b.Run(t, args)
	if !errors.Is(err, step.ErrMismatch) || !strings.Contains(err.Error(), `the file to compare with is not the pinned one either`) ||
		!strings.Contains(err.Error(), `row 2, column "x": want "4", got "5"; 1 of 2 rows differ; 1 of 2 columns differ: "x"`) {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"public/train.csv": table, "private/test.csv": "world"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	delete(args, "expected")
	args["expected_dir"] = cty.StringVal(dir)
	if _, err := b.Run(t, args); !errors.Is(err, step.ErrMismatch) || !strings.Contains(err.Error(), `row 2, column "x": want "4", got "5"`) {
		t.Errorf("with a folder: %v", err)
	}
	args["expected_dir"] = cty.StringVal(filepath.Join(dir, "none"))
	if _, err := b.Run(t, args); err == nil || errors.Is(err, step.ErrMismatch) {
		t.Errorf("a folder that is not there: %v", err)
	}
	args["expected"] = trees(t, b, table)
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "not both") {
		t.Errorf("both: %v", err)
	}
}

// TestVerdict is what travels with the data, and in the key.
func TestVerdict(t *testing.T) {
	verdict := func(pins string, onMismatch string) (string, map[string]string) {
		b := newBench(t, pins)
		args := values(t, b)
		args["on_mismatch"] = cty.StringVal(onMismatch)
		out, err := b.Run(t, args)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		steptest.Decode(t, out["verdict"], &got)
		return got, b.Key(t, args)
	}
	bad := `public = { "train.csv" = "` + md5A + `" }`
	if got, _ := verdict(bad, "warn"); got != "mismatch" {
		t.Errorf("other data: %s", got)
	}
	if got, _ := verdict("", "fail"); got != "unpinned" {
		t.Errorf("no pins: %s", got)
	}
	strict, a := verdict(goodPins, "fail")
	lax, b := verdict(goodPins, "warn")
	if strict != "verified" || lax != "verified" {
		t.Errorf("right data: %s, %s", strict, lax)
	}
	if cmp.Equal(a, b) {
		t.Error("on_mismatch is not in the key: data let through with a warning would pass for verified")
	}
}
