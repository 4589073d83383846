package board

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scriptCase is a set of report files, and what the reference's script prints.
type scriptCase struct {
	IDs     []string
	Seeds   int
	Pad     bool
	Files   []scriptFile
	Count   int
	Metrics map[string][4]float64
	Error   string
}

type scriptFile struct {
	name, form string
	reports    [][8]any
}

func (f *scriptFile) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&f.name, &f.form, &f.reports})
}

// text is the file as testdata/script.py writes it.
func (f scriptFile) text() string {
	words := map[string][2]string{"words": {"null", "1"}}[f.form]
	if words[0] == "" {
		words = [2]string{"false", "true"}
	}
	var reports []string
	for _, r := range f.reports {
		fields := []string{fmt.Sprintf(`"competition_id": %q`, r[0])}
		for i, name := range []string{"gold_medal", "silver_medal", "bronze_medal", "above_median", "submission_exists", "valid_submission"} {
			fields = append(fields, fmt.Sprintf("%q: %s", name, words[int(r[i+1].(float64))]))
		}
		score := r[7].(string)
		if ours, ok := map[string]string{"NaN": `"nan"`, "Infinity": `"inf"`, "-Infinity": `"-inf"`}[score]; ok && f.form == "ours" {
			score = ours
		}
		reports = append(reports, "{"+strings.Join(append(fields, `"score": `+score), ", ")+"}")
	}
	return fmt.Sprintf(`{"total_runs": %d, "competition_reports": [%s]}`, len(reports), strings.Join(reports, ", "))
}

func (c scriptCase) board(t *testing.T) (Board, error) {
	folder := t.TempDir()
	var paths []string
	for _, f := range c.Files {
		path := filepath.Join(folder, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f.text()), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	file, err := ReadPaths(paths)
	if err != nil {
		t.Fatal(err)
	}
	return NewBoard(AllFlags(file.Reports), []SplitIDs{{"split", c.IDs}}, Seeds{Count: c.Seeds, PadMissing: c.Pad})
}

// testdata/script.json.gz is made by testdata/script.py, which runs the
// reference's own script on files; it states the versions. Nothing may differ,
// to the last bit.
func TestFilesEqualScript(t *testing.T) {
	f, err := os.Open("testdata/script.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct{ Cases []scriptCase }
	if err := json.NewDecoder(in).Decode(&oracle); err != nil {
		t.Fatal(err)
	}
	built := 0
	for i, c := range oracle.Cases {
		board, err := c.board(t)
		if (err != nil) != (c.Error != "") {
			t.Errorf("set %d: error %v, the script says %q", i, err, c.Error)
		}
		if err != nil {
			continue
		}
		built++
		got := map[string][4]float64{}
		for name, e := range board.Splits["split"] {
			got[name] = [4]float64{float64(e.Mean), float64(e.SEM), float64(e.CILower), float64(e.CIUpper)}
		}
		if diff := cmp.Diff(c.Metrics, got); diff != "" || board.Seeds != c.Count {
			t.Errorf("set %d: %d seeds, want %d; (-want +got):\n%s", i, board.Seeds, c.Count, diff)
		}
	}
	if built < 200 {
		t.Errorf("only %d sets could be compared", built)
	}
}
