package grading_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// hostileCells returns texts of at most size bytes that ask much of what reads
// cells: of masks, boxes, numbers, words and texts. own is a cell that the
// reference scores.
func hostileCells(own string, size int) map[string]string {
	list := func(piece string) string {
		return strings.TrimSuffix(strings.Repeat(piece+" ", max(1, size/(len(piece)+1))), " ")
	}
	counted := func(format string, most int) string {
		var b strings.Builder
		for i := 1; i < most && b.Len() < size-40; i++ {
			fmt.Fprintf(&b, format, 2*i)
		}
		return strings.TrimSpace(b.String())
	}
	return map[string]string{
		"own again":          list(own),
		"one run":            "1 1000000000",
		"runs":               counted("%d 1 ", size),
		"runs beyond":        counted("1000000%d 1 ", size),
		"runs of all":        list("1 1000000000"),
		"runs beyond 64 bit": list("1 99999999999999999999"),
		"boxes":              list("0 1 0 0 9 9"),
		"boxes by class":     counted("%d 1 0 0 9 9 ", size),
		"nan boxes":          list("0 nan nan nan inf -inf"),
		"cuboids":            list("1 0 0 0 9 9 9 0 car"),
		"points":             list("U+306F 5 5"),
		"digits":             strings.Repeat("9", size),
		"fraction":           "0." + strings.Repeat("1", size-2),
		"exponent":           "1e" + strings.Repeat("9", size-2),
		"underscores":        "1" + strings.Repeat("_1", size/2-1),
		"wide digits":        strings.Repeat("１", size/3),
		"letters":            strings.Repeat("x", size),
		"code points":        codePoints(size),
		"words":              counted("w%d ", size),
		"numbers":            counted("%d ", size),
		"blanks":             strings.Repeat(" ", size),
		"final sigmas":       strings.Repeat("aΣ"+strings.Repeat("'", 20), size/23),
		"sigmas":             "a" + strings.Repeat("'", size/2) + strings.Repeat("Σ", size/4-1),
		"dotted":             strings.Repeat("İ", size/2),
		"nested":             strings.Repeat("[", size),
		"nested objects":     strings.Repeat(`{"a":`, size/5),
		"colons":             strings.Repeat(":", size),
		"not UTF-8":          strings.Repeat("\xff", size),
	}
}

// codePoints is a text of different code points.
func codePoints(size int) string {
	var b strings.Builder
	for r := rune(0x4e00); b.Len() < size-4; r++ {
		b.WriteRune(r)
	}
	return b.String()
}

// hostileFiles returns submissions of about size bytes made of one that is
// scored: with a hostile cell in the first row, or some in all rows, of each
// target, and with rows again and again.
func hostileFiles(t *testing.T, rows [][]string, id string, size int) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	write := func(name string, rows [][]string) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		if b.Len() <= size {
			files[name] = b.Bytes()
		}
	}
	length := 0
	for _, row := range rows {
		length += len(strings.Join(row, ",")) + 4
	}
	free := size - length - 64
	if free < 1000 {
		return nil
	}
	for c := range rows[0] {
		if c > 2 {
			break // columns of one kind
		}
		for name, cell := range hostileCells(rows[1][c], free*9/10) {
			changed := slices.Clone(rows)
			changed[1] = slices.Clone(rows[1])
			changed[1][c] = cell
			write(rows[0][c]+": "+name, changed)
		}
		if rows[0][c] == id {
			continue
		}
		each := max(100, free/len(rows)*9/10)
		for name, cell := range hostileCells(rows[1][c], each) {
			changed := slices.Clone(rows)
			for i := range changed[1:] {
				changed[1+i] = slices.Clone(changed[1+i])
				changed[1+i][c] = cell
			}
			write(rows[0][c]+" of all: "+name, changed)
		}
	}
	again, distinct := slices.Clone(rows), slices.Clone(rows)
	for n := length; n < size-200; n += len(strings.Join(rows[1], ",")) + 8 {
		again = append(again, rows[1])
		row := slices.Clone(rows[1])
		row[len(row)-1] = strconv.Itoa(n)
		distinct = append(distinct, row)
	}
	write("rows again", again)
	write("other rows", distinct)
	return files
}

// hostileBytes is what a submission may have that is graded in this process,
// and takes at most mostBytes of memory there, in all.
const (
	hostileBytes = 256 << 10
	mostBytes    = 64 << 20
)

// TestHostileCells grades hostile submissions to each metric that reads texts,
// of the size that is graded in the process that asks. They take little memory,
// and are scored or invalid, never an error. MLEFLOW_HOSTILE=all does so with
// each competition that has a golden case, MLEFLOW_HOSTILE=times tells the time
// that each takes, too.
func TestHostileCells(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, id := range goldentest.IDs(t) {
		def, err := catalog.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		plan, diags := grading.Decode(def, metric.All(), nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if seen[plan.Metric.Name] && os.Getenv("MLEFLOW_HOSTILE") == "" {
			continue
		}
		seen[plan.Metric.Name] = true
		t.Run(def.ID, func(t *testing.T) { gradeHostile(t, def, plan.ID, goldentest.Unpack(t, id)) })
	}
}

func gradeHostile(t *testing.T, def *competitions.Definition, id, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "submissions/gold.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range hostileFiles(t, rows, id, hostileBytes) {
		file := filepath.Join(dir, "hostile.csv")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		r, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{
			Submission: file, Answers: filepath.Join(dir, "prepared", def.Layout.Answers),
		})
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case used > mostBytes:
			t.Errorf("%s: %d bytes were taken for %d", name, used, len(data))
		case r.Outcome != outcome.Scored && (r.Reason == "" || len(r.Reason) > 1000):
			t.Errorf("%s: %s: %.1000q", name, r.Outcome, r.Reason)
		}
		if os.Getenv("MLEFLOW_HOSTILE") == "times" {
			t.Logf("%8d KiB %5d ms %s: %s %.80q", used>>10, took.Milliseconds(), name, r.Outcome, r.Reason)
		}
	}
}

// TestManyColumns grades submissions with columns that nobody asks for, as many
// as pandas reads in reasonable time.
func TestManyColumns(t *testing.T) {
	const id = "aptos2019-blindness-detection"
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	dir := goldentest.Unpack(t, id)
	gold, err := os.ReadFile(filepath.Join(dir, "submissions", "gold.csv"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "wide.csv")
	for columns, want := range map[int]string{5000: "", 50_000: "", 1 << 18: "more than 262144 fields"} {
		text := strings.ReplaceAll(string(gold), "\n", strings.Repeat(",", columns)+"\n")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{Submission: file, Answers: filepath.Join(dir, "prepared", def.Layout.Answers)})
		if err != nil {
			t.Fatal(err)
		}
		if report.ValidSubmission != (want == "") || !strings.Contains(report.Reason, want) {
			t.Errorf("%d columns more: %s, %s", columns, report.Outcome, report.Reason)
		}
	}
}
