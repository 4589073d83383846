package winnow_test

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/pysource"
	"github.com/mleflow/mleflow/plugins/data/winnow"
)

// keptFiles reads files of testdata/planted as one document.
func keptFiles(t *testing.T, name string, files ...string) *winnow.Document {
	t.Helper()
	var sources []*pysource.Source
	for _, file := range files {
		s, err := pysource.ReadFile(os.DirFS("testdata/planted"), file)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	return winnow.NewDocument(name, sources)
}

// TestPlantedFiles finds one kernel in copies that are kept as files: renamed,
// reordered, split into modules, translated to a notebook. Unlike the programs
// of TestPlanted it is code as people write it.
func TestPlantedFiles(t *testing.T) {
	kernel := keptFiles(t, "kernel.py", "kernel.py")
	compare := winnow.NewComparer(&winnow.Database{Method: winnow.Default, Common: winnow.DefaultCommon, Documents: []*winnow.Document{kernel}})
	tests := []struct {
		name  string
		files []string
		least float64 // containment; 0 wants no match
	}{
		{"itself", []string{"kernel.py"}, 1},
		{"renamed", []string{"renamed.py"}, 0.9},
		{"reordered", []string{"reordered.py"}, 0.7},
		{"split", []string{"split/features.py", "split/main.py"}, 0.8},
		{"half of the split", []string{"split/features.py"}, 0.8},
		{"notebook", []string{"notebook.ipynb"}, 0.9},
		{"copy beside other code", []string{"unrelated.py", "renamed.py"}, 0.9},
		{"unrelated", []string{"unrelated.py"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := compare.Compare(keptFiles(t, test.name, test.files...)).Matches
			suspicious, contained := false, 0.0
			for _, m := range found {
				suspicious, contained = suspicious || m.Suspicious(), max(contained, m.Containment())
			}
			t.Logf("containment %.2f", contained)
			if suspicious != (test.least > 0) || contained < test.least {
				t.Errorf("containment %.2f, suspicious %v; want at least %.2f", contained, suspicious, test.least)
			}
		})
	}
}
