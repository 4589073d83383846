package prep_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
)

// TestDemo prepares the shipped demonstrations. The sums were made with
// pandas 2.3.3 and scikit-learn 1.9.1: read_csv, train_test_split with the
// definition's size and seed 0, to_csv(index=False).
func TestDemo(t *testing.T) {
	for id, want := range map[string]map[string]string{
		"demo-digits": {
			"public/train.csv":             "2b565149160fdfbf96e1d8038f0eeaea",
			"public/test.csv":              "8baac96dbbe582d2fa31b38439aeb7d8",
			"public/sample_submission.csv": "86e4a0b628fbe7b042f3dc4bdab0d6a2",
			"private/test.csv":             "d800e1ce453f6eae669e7a7129fa496e",
		},
		"demo-cancer": {
			"public/train.csv":             "eaf33b6356c927482fa35c9015762845",
			"public/test.csv":              "d6a85bf67529666c914e6966da6af9cc",
			"public/sample_submission.csv": "cc3cbc5b6f2f39d7ed58daba4e5f7a49",
			"private/test.csv":             "0b91d33bf5c84263cedf1db39765ba85",
		},
	} {
		t.Run(id, func(t *testing.T) {
			def := shipped(t, id)
			raw, err := fs.ReadFile(def.Folder(), def.Sources[0].Path)
			if err != nil {
				t.Fatal(err)
			}
			if sum := md5.Sum(raw); hex.EncodeToString(sum[:]) != def.Sources[0].MD5 {
				t.Errorf("archive has MD5 %x, pinned is %s", sum, def.Sources[0].MD5)
			}
			archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				t.Fatal(err)
			}
			out := prepare(t, def, prep.Options{Raw: archive})
			got := map[string]string{}
			for path := range want {
				got[path] = fileSum(t, filepath.Join(out, path))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("prepared files (-want +got):\n%s", diff)
			}
		})
	}
}

func shipped(t *testing.T, id string) *competitions.Definition {
	t.Helper()
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// prepare runs a definition into a new folder and returns it.
func prepare(t *testing.T, def *competitions.Definition, o prep.Options) string {
	t.Helper()
	final := filepath.Join(t.TempDir(), "prepared")
	out, err := prep.NewFolder(final)
	if err != nil {
		t.Fatal(err)
	}
	o.Out, o.Work = out, t.TempDir()
	if err := prep.Run(context.Background(), def, o); err != nil {
		t.Fatal(err)
	}
	if err := out.Publish(); err != nil {
		t.Fatal(err)
	}
	return final
}

func fileSum(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}
