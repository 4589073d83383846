package matlab_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/matlab"
)

// oracle are the cases of testdata/make.py.
type oracle struct {
	Versions map[string]string
	Cases    []struct {
		Name       string
		File, Want []byte
		Paths      []string
	}
}

func load(t testing.TB) (o oracle) {
	t.Helper()
	data, err := os.ReadFile("testdata/clear.json")
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil || len(o.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(o.Cases), err)
	}
	return o
}

// TestClear compares with the files that scipy writes of cleared variables.
func TestClear(t *testing.T) {
	o := load(t)
	for _, c := range o.Cases {
		t.Run(c.Name, func(t *testing.T) {
			before := bytes.Clone(c.File)
			got, err := matlab.Clear(c.File, c.Paths...)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, c.Want) {
				t.Errorf("%d bytes, want %d\n got %q\nwant %q", len(got), len(c.Want), got, c.Want)
			}
			if !bytes.Equal(before, c.File) {
				t.Error("the file was changed")
			}
			if again, err := matlab.Clear(got, c.Paths...); !strings.Contains(c.Name, "field of fields") && (err != nil || !bytes.Equal(again, got)) {
				t.Errorf("clearing twice differs (%v)", err)
			}
		})
	}
}

func TestClearMistakes(t *testing.T) {
	file := load(t).Cases[0].File
	for _, path := range []string{"Video.Label", "video", "Video.NumFrames.x", "Labels", ""} {
		if _, err := matlab.Clear(file, path); err == nil || err.Error() != "there is no "+path {
			t.Errorf("%q: %v", path, err)
		}
	}
	hdf5 := append([]byte("MATLAB 7.3 MAT-file"), make([]byte, 200)...)
	copy(hdf5[124:], "\x00\x02IM")
	for name, data := range map[string][]byte{"HDF5": hdf5, "nothing": nil, "cut": file[:len(file)-9], "short": file[:100]} {
		if _, err := matlab.Clear(data, "Video.Labels"); !errors.Is(err, matlab.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzClear looks for panics, and for labels that stay without an error.
func FuzzClear(f *testing.F) {
	for _, c := range load(f).Cases {
		f.Add(c.File)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := matlab.Clear(data, "Video.Labels")
		if err != nil {
			return
		}
		if again, err := matlab.Clear(out, "Video.Labels"); err != nil || !bytes.Equal(again, out) {
			t.Errorf("clearing twice differs (%v)", err)
		}
	})
}
