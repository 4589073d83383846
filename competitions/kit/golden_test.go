package kit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/archive"
	"github.com/mleflow/mleflow/plugins/metric"
)

const goldenFolder = "../testdata/golden/"

// goldenPrepared prepares a version of a golden case.
func goldenPrepared(t *testing.T, id, version string) (*competitions.Definition, string) {
	t.Helper()
	f, err := os.Open(goldenFolder + id + ".tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := archive.Source{ReaderAt: f, Size: info.Size()}
	if err := archive.Unpack(context.Background(), src, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
		t.Fatal(err)
	}
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	if def, err = def.At(version); err != nil {
		t.Fatal(err)
	}
	if id == "random-acts-of-pizza" {
		nameGivers(t, filepath.Join(dir, id, "raw", "train.json"))
	}
	final := filepath.Join(dir, "prepared")
	out, err := prep.NewFolder(final)
	if err != nil {
		t.Fatal(err)
	}
	o := prep.Options{Raw: os.DirFS(filepath.Join(dir, id, "raw")), Out: out}
	if id == "tabular-playground-series-may-2022" {
		o.Params = map[string]cty.Value{"test_size": cty.NumberIntVal(67)}
	}
	if err := prep.Run(context.Background(), def, o); err != nil {
		t.Fatal(err)
	}
	if err := out.Publish(); err != nil {
		t.Fatal(err)
	}
	return def, final
}

// nameGivers makes the miniature as the real data are, whose givers are known
// only where a pizza was given, and not always then.
func nameGivers(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var records []map[string]any
	if err := json.Unmarshal(data, &records); err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		r["giver_username_if_known"] = "N/A"
		if r["requester_received_pizza"] == true && i%3 > 0 {
			r["giver_username_if_known"] = fmt.Sprint("giver", i)
		}
	}
	if data, err = json.Marshal(records); err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLintGolden lints what every version of every golden case prepares. What
// is found in v1 is known, and the known defects are found.
func TestLintGolden(t *testing.T) {
	mustFind := map[string]string{
		"cassava-leaf-disease-classification v1":      "record-answers target",
		"random-acts-of-pizza v1":                     "determined-answers giver_username_if_known",
		"ranzcr-clip-catheter-line-classification v1": "ungraded-columns CVC - Normal",
		"siim-isic-melanoma-classification v1":        "record-answers target",
	}
	cases, err := filepath.Glob(goldenFolder + "*.tar.zst")
	if err != nil || len(cases) < 29 {
		t.Fatalf("%d golden cases (%v)", len(cases), err)
	}
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range cases {
		id := strings.TrimSuffix(filepath.Base(path), ".tar.zst")
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range def.Versions() {
			name := id + " " + version
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				def, folder := goldenPrepared(t, id, version)
				found, err := kit.LintPrepared(def, metric.All(), os.DirFS(folder))
				if err != nil {
					t.Fatal(err)
				}
				var news []string
				known := mustFind[name] == ""
				for _, f := range found {
					if f.Excuse == "" {
						news = append(news, f.Rule+": "+f.Message)
					}
					known = known || f.Excuse != "" && f.Rule+" "+f.Column == mustFind[name]
				}
				if diff := cmp.Diff([]string(nil), news); diff != "" {
					t.Errorf("findings without an excuse (-want +got):\n%s", diff)
				}
				if !known {
					t.Errorf("%s is not found", mustFind[name])
				}
			})
		}
	}
}
