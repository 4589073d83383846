package document_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/document"
)

// vector is one text and how CPython's json writes what it reads from it;
// made by testdata/make.py, which names the version.
type vector struct {
	Text   string
	Error  bool
	Plain  string
	Indent string
	Sorted string
}

func TestPythonSpelling(t *testing.T) {
	data, err := os.ReadFile("testdata/python.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Python  string
		Vectors []vector
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 60 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		t.Run(v.Text, func(t *testing.T) {
			doc, err := document.Parse([]byte(v.Text))
			if (err != nil) != v.Error {
				t.Fatalf("error %v, Python raised: %v", err, v.Error)
			}
			if err != nil {
				return
			}
			got := vector{Text: v.Text, Plain: write(t, doc, document.WriteOptions{}),
				Indent: write(t, doc, document.WriteOptions{Indent: 4}),
				Sorted: write(t, doc, document.WriteOptions{Indent: 2, SortKeys: true})}
			if diff := cmp.Diff(v, got); diff != "" {
				t.Errorf("(-Python +got):\n%s", diff)
			}
		})
	}
}

func write(t *testing.T, v document.Value, o document.WriteOptions) string {
	t.Helper()
	var buf bytes.Buffer
	if err := document.Write(&buf, v, o); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestErrorNamesPlace(t *testing.T) {
	_, err := document.Parse([]byte("{\n \"a\": é}"))
	want := "parse JSON: line 2, column 7: not a value"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a": [1, "\ud83d", null, -0.0]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := document.Parse(data)
		if err != nil {
			return
		}
		once := write(t, v, document.WriteOptions{SortKeys: true})
		again, err := document.Parse([]byte(once))
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if twice := write(t, again, document.WriteOptions{SortKeys: true}); twice != once {
			t.Errorf("written twice: %q, then %q", once, twice)
		}
	})
}
