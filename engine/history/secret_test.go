package history

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/event"
)

// No file of a run has a secret, and all of them can still be read, even if
// the secret is a piece of JSON's syntax.
func TestNoSecretIsWritten(t *testing.T) {
	for _, value := range []string{"s3cr3t-token", `quo"te\d`, `","address":"`, `,"kind":`} {
		l := New(t.TempDir())
		r := begin(t, l, Opening{
			Info:    Info{Argv: []string{"-var", "token=" + value}},
			Sources: map[string][]byte{"demo.hcl": []byte("# " + value)},
			Secrets: secret.New(value),
		})
		log := r.Log("step.exec.a", 1)
		for _, c := range []byte("before " + value + " after") {
			if _, err := log.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		r.Emit(event.StepFinished{At: at(1), Address: "step.exec.a", Status: event.Failed, Error: "401 for " + value})
		r.Emit(event.RunFinished{At: at(2), Status: event.Failed})
		r.Close()
		p := find(t, l, r.ID())
		s, err := p.Summary()
		if err != nil || s.Unreadable != 0 || s.State != Failed {
			t.Fatalf("%q: summary %+v, %v", value, s, err)
		}
		if text := readLog(t, p.logPath("step.exec.a", 1)); text != "before *** after" {
			t.Errorf("%q: log %q", value, text)
		}
		if p.Info.Argv[1] != "token=***" || s.Steps[0].Error != "401 for ***" {
			t.Errorf("%q: argv %q, error %q", value, p.Info.Argv, s.Steps[0].Error)
		}
		if strings.Contains(value, `":`) {
			continue // is in every document
		}
		err = filepath.Walk(r.dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte(value)) || bytes.Contains(text, []byte(`quo\"te`)) {
				t.Errorf("%s has the secret %q", filepath.Base(path), value)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What cannot be a credential stays readable: it may be any word of a pipeline.
func TestWeakValuesStay(t *testing.T) {
	l := New(t.TempDir())
	r := begin(t, l, Opening{
		Info: Info{Argv: []string{"apply", "none.hcl"}}, Sources: map[string][]byte{"none.hcl": []byte(`reduction = "none"`)}, Secrets: secret.New("none", "1", "1082"),
	})
	r.Close()
	p := find(t, l, r.ID())
	sources, err := p.Sources()
	if got := string(sources["none.hcl"]); err != nil || got != `reduction = "none"` || p.Info.Argv[1] != "none.hcl" {
		t.Errorf("sources %s, argv %q, %v", got, p.Info.Argv, err)
	}
}
