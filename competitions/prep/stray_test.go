package prep_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/competitions/prep"
)

// TestNomadStrayGeometry prepares structures whose folder holds more than one
// file, as train/757 of the hosts' release does. The reference copies every
// file that its glob finds, in sorted order, onto one name: the last stays, and
// a hidden file is not found.
func TestNomadStrayGeometry(t *testing.T) {
	rows := "id,spacegroup,formation_energy_ev_natom,bandgap_energy_ev\n"
	members := map[string]string{}
	for id := 1; id <= 20; id++ {
		rows += fmt.Sprintf("%d,%d,0.5,1.5\n", id, id)
		folder := fmt.Sprintf("train/%d/", id)
		members[folder+"geometry.xyz"] = fmt.Sprintf("geometry %d", id)
		members[folder+"tmp_geometry.xyz"] = fmt.Sprintf("stray %d", id)
		members[folder+"a.xyz"] = fmt.Sprintf("early %d", id)
		members[folder+".z.xyz"] = fmt.Sprintf("hidden %d", id)
		members[folder+"z.txt"] = "no geometry"
	}
	raw := fstest.MapFS{
		"train.zip":     {Data: zipped(t, members)},
		"train.csv.zip": {Data: zipped(t, map[string]string{"train.csv": rows})},
	}
	out := prepare(t, shipped(t, "nomad2018-predict-transparent-conductors"), prep.Options{Raw: raw})
	for _, part := range []string{"public/train", "private/test"} {
		table, err := os.ReadFile(filepath.Join(out, part+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
			cells := strings.Split(row, ",")
			path := filepath.Join(out, "public", filepath.Base(part), cells[0], "geometry.xyz")
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// The column spacegroup keeps the old id.
			if want := "stray " + cells[1]; string(got) != want {
				t.Errorf("%s of row %s holds %q, want %q", path, row, got, want)
			}
		}
	}
}

func zipped(t *testing.T, members map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range members {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
