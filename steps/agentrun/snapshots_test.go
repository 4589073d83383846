package agentrun_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

func result2(t *testing.T, out cache.Outputs) agentrun.Stats {
	t.Helper()
	var stats agentrun.Stats
	steptest.Decode(t, out["stats"], &stats)
	return stats
}

// TestSnapshots lets an agent improve its submission, hide it behind a link
// and write it without end; what is kept is whole, and the agent sees nothing
// of it.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell(`cd $SUBMISSION_DIR
		echo first > submission.csv; sleep 1.6
		echo second > submission.csv; sleep 1
		rm submission.csv; ln -s /etc/passwd submission.csv; sleep 1
		rm submission.csv; mkfifo submission.csv; sleep 1
		rm submission.csv; echo last > submission.csv; ls -A $SUBMISSION_DIR .. > $CODE_DIR/list`))
	args["snapshot_every"] = cty.StringVal("1s")
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	files := b.Files(t, out["snapshots"].Ref)
	var got []string
	for path, text := range files {
		if len(path) != len("000000001/submission.csv") {
			t.Errorf("a snapshot is called %q", path)
		}
		got = append(got, path+"="+strings.TrimSpace(text))
	}
	slices.Sort(got)
	if text := fmt.Sprint(got); !strings.Contains(text, "=first") || !strings.Contains(text, "=second") || strings.Contains(text, "root:") {
		t.Errorf("snapshots %s\n%s", text, b.Log())
	}
	if b.Files(t, out["submission"].Ref)["submission.csv"] != "last\n" {
		t.Error("the submission is not the last one")
	}
	if list := b.Files(t, out["code"].Ref)["list"]; strings.Contains(list, "snapshot") {
		t.Errorf("the agent sees %s", list)
	}
}

func TestTornSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell(`i=0; while [ $i -lt 300 ]; do echo row $i >> $SUBMISSION_DIR/submission.csv; i=$((i+1)); sleep 0.01; done`))
	args["snapshot_every"] = cty.StringVal("1s")
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range b.Files(t, out["snapshots"].Ref) {
		if !strings.HasSuffix(text, "\n") {
			t.Errorf("%s was kept while it was written: %q", path, text[max(0, len(text)-20):])
		}
	}
}

// TestCodeSnapshots keeps the code as it changes: no copy of what did not, no
// links, and no rights are changed of a file that the agent has closed.
func TestCodeSnapshots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell(`cd $CODE_DIR; mkdir lib; ln -s /etc/passwd link
		echo one > main.py; echo x > lib/x.py; chmod 000 lib/x.py; sleep 3.2
		stat -c %a lib/x.py > $LOGS_DIR/mode
		echo two > main.py; sleep 1.6
		echo three > main.py`))
	args["snapshot_every"] = cty.StringVal("1s")
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	files := b.Files(t, out["code_snapshots"].Ref)
	var mains []string
	folders := map[string]bool{}
	for path, text := range files {
		folder, name, _ := strings.Cut(path, "/")
		folders[folder] = true
		if name == "main.py" {
			mains = append(mains, strings.TrimSpace(text))
		}
		if strings.Contains(text, "root:") || name == "link" {
			t.Errorf("%s is kept", path)
		}
	}
	slices.Sort(mains)
	if len(folders) > 3 || !slices.Contains(mains, "one") || !slices.Contains(mains, "two") {
		t.Errorf("%d copies of main.py %q\n%s", len(folders), mains, b.Log())
	}
	if mode := b.Files(t, out["logs"].Ref)["mode"]; strings.TrimSpace(mode) != "0" {
		t.Errorf("the agent's file has the mode %s", mode)
	}
	delete(args, "snapshot_every")
	if out, err = b.Run(t, args); err != nil || len(b.Files(t, out["code_snapshots"].Ref)) > 0 {
		t.Errorf("without snapshot_every: %v, %v", b.Files(t, out["code_snapshots"].Ref), err)
	}
}
