package imported

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
)

// TestDojo imports folders of MLE-Dojo and grades made-up submissions, of which
// testdata/dojo.py has the scores by MLE-Dojo's own code. Its variables are
//
//	MLEFLOW_DOJO_FOLDERS     the folder mledojo/competitions of a checkout
//	MLEFLOW_DOJO_CASES       the folder of the cases, with what the script printed as cases.json
//	MLEFLOW_REFERENCE_CACHE  the cache of the packages
func TestDojo(t *testing.T) {
	from, made, cached := os.Getenv("MLEFLOW_DOJO_FOLDERS"), os.Getenv("MLEFLOW_DOJO_CASES"), os.Getenv("MLEFLOW_REFERENCE_CACHE")
	if from == "" || made == "" || cached == "" {
		t.Skip("MLEFLOW_DOJO_FOLDERS, MLEFLOW_DOJO_CASES and MLEFLOW_REFERENCE_CACHE are not set")
	}
	var want map[string]map[string]*string
	readJSON(t, filepath.Join(made, "cases.json"), &want)
	if len(want) < 10 {
		t.Errorf("only %d competitions", len(want))
	}
	m := realMachine(t, cached)
	for _, id := range slices.Sorted(maps.Keys(want)) {
		t.Run(id, func(t *testing.T) {
			def := imported(t, filepath.Join(from, id))
			names, dir := slices.Sorted(maps.Keys(want[id])), t.TempDir()
			if err := os.Symlink(filepath.Join(made, id), filepath.Join(dir, "submissions")); err != nil {
				t.Fatal(err)
			}
			got := runner(t, def, m, names, dir, filepath.Join(made, id, "answers.csv"), false)
			for i, name := range names {
				wanted := "null"
				if text := want[id][name]; text != nil {
					score, err := strconv.ParseFloat(*text, 64)
					if err != nil {
						t.Fatal(err)
					}
					exact := grading.Number(score)
					wanted = spell(&exact)
				}
				if got[i] != wanted {
					t.Errorf("%s scores %s, MLE-Dojo gives %s", name, got[i], wanted)
				}
			}
		})
	}
}
