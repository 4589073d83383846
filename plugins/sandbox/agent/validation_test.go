package agent

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestBaselineAsks submits the network that got the best validation score, whatever the
// replies report and whenever the queries end.
func TestBaselineAsks(t *testing.T) {
	files := newRings(300, 60).files("id,ring", "0")
	for name, replies := range map[string][]string{
		"score":   {`{"score":0.5,"best":0.5}`, `{"score":0,"best":0.5}`, `{"score":0.75,"best":0.75}`, `{"score":0.6,"best":0.75}`},
		"rank":    {`{"rank":1,"of":1}`, `{"rank":2,"of":2}`, `{"rank":1,"of":3}`, `{"rank":2,"of":4}`},
		"better":  {`{"better":true}`, `{"better":false}`, `{"better":true}`, `{"better":false}`},
		"3 asked": {`{"better":true}`, `{"better":false}`, `{"better":true}`},
	} {
		task := newTask(t, 1, files)
		task.ValidationDir = task.DataDir // so that both predictions are the same
		var sent []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			file, _, err := r.FormFile("file")
			if err != nil || r.URL.Path != "/score" || len(sent) == len(replies) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			text, _ := io.ReadAll(file)
			fmt.Fprintln(w, replies[len(sent)])
			sent = append(sent, string(text))
		}))
		task.Gateway = server.URL
		err := solveBaseline(task)
		server.Close()
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(task.SubmissionDir, SubmissionFile))
		if err != nil || len(sent) != len(replies) || string(text) != sent[2] || sent[2] == sent[1] {
			t.Errorf("%s: %d queries, %v\n%s", name, len(sent), err, task.Log)
		}
	}
}
