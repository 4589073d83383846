package agentrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// TestGoldenReplies sends golden submissions of several competitions to the
// server. A reply says that a submission is valid where the reference's grader
// (see the golden test of package grading) gives a score. No reply repeats a
// row of the answers.
func TestGoldenReplies(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"leaf-classification", "spaceship-titanic", "aptos2019-blindness-detection", "spooky-author-identification",
		"aerial-cactus-identification", "text-normalization-challenge-english-language", "nomad2018-predict-transparent-conductors"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := catalog.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			dir := goldentest.Unpack(t, id)
			form, err := grading.NewForm(def, metric.All(), nil, filepath.Join(dir, "prepared", def.Layout.Sample), "")
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(validity.New(validity.Options{
				Dir: t.TempDir(), Check: func(_ context.Context, path string) (validity.Verdict, error) { return verdict(form.Check(path)) },
			}))
			defer server.Close()
			askGolden(t, server, dir, def)
		})
	}
}

func askGolden(t *testing.T, server *httptest.Server, dir string, def *competitions.Definition) {
	var expected map[string]struct{ Status string }
	readJSON(t, filepath.Join(dir, "expected.json"), &expected)
	answers, err := os.ReadFile(filepath.Join(dir, "prepared", def.Layout.Answers))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range expected {
		file, err := os.ReadFile(filepath.Join(dir, "submissions", name))
		if err != nil {
			t.Fatal(err)
		}
		reply := send(t, server, file)
		if (reply == validity.Valid) != (want.Status == "ok") || reply != validity.Valid && !strings.HasPrefix(reply, validity.Invalid) {
			t.Errorf("%s: %q, want %s", name, reply, want.Status)
		}
		for row := range bytes.Lines(answers) {
			if row = bytes.TrimSpace(row); len(row) > 8 && strings.Contains(reply, string(row)) {
				t.Errorf("%s: the reply holds the answers' row %s: %s", name, row, reply)
			}
		}
		if strings.Contains(reply, dir) || strings.Contains(reply, os.TempDir()) {
			t.Errorf("%s: the reply tells a path: %s", name, reply)
		}
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func send(t *testing.T, server *httptest.Server, file []byte) string {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", "submission.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(file)
	_ = w.Close()
	resp, err := server.Client().Post(server.URL+"/validate", w.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var reply struct{ Result string }
	if err == nil {
		err = json.Unmarshal(text, &reply)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", text, err))
	}
	return reply.Result
}
