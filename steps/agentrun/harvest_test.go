package agentrun_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHostileHarvest lets an agent leave what a harvest must survive.
func TestHostileHarvest(t *testing.T) {
	b := newBench(t)
	r := run(t, b, values(b, t, shell(`
		cd $SUBMISSION_DIR
		ln -s /etc/passwd link; ln -s / root; ln -s submission.csv inner; ln -s link loop; ln -s loop2 loop2
		mkfifo pipe
		truncate -s 20G aaa-huge
		mkdir empty sub; echo deep > sub/file
		cp $DATA_DIR/test.csv $AGENT_DIR/test.csv; ln $AGENT_DIR/test.csv hard; ln hard hard2
		echo hidden > .hidden
		echo locked > locked; chmod 0 locked
		mkdir shut; echo inside > shut/file; chmod 0 shut
		echo newline > "$(printf 'a\nb')"; echo back > 'back\slash'; echo latin > "$(printf 'l\351')"
		d=.; i=0; while [ $i -lt 60 ]; do d=$d/d; i=$((i+1)); done; mkdir -p $d; echo bottom > $d/bottom
		echo id > submission.csv; chmod +x submission.csv`)))
	shallow := map[string]string{}
	for path, text := range r.Submission {
		if !strings.HasPrefix(path, "d/") {
			shallow[path] = text
		}
	}
	want := map[string]string{
		"submission.csv": "id\n", "sub/file": "deep\n", "empty/": "", "hard": toyData["test.csv"], "hard2": toyData["test.csv"],
		".hidden": "hidden\n", "locked": "locked\n", "shut/file": "inside\n", "a\nb": "newline\n", `back\slash`: "back\n", "l\xe9": "latin\n",
	}
	if diff := cmp.Diff(want, shallow); diff != "" {
		t.Errorf("harvested (-want +got):\n%s", diff)
	}
	wantLeft := []string{
		"aaa-huge: 21474836480 bytes", "d/d/d: too deep", "inner: a symbolic link", "link: a symbolic link", "loop: a symbolic link",
		"loop2: a symbolic link", "pipe: a named pipe", "root: a symbolic link",
	}
	left := strings.Join(r.Stats.LeftOut, "\n")
	for _, w := range wantLeft {
		if !strings.Contains(left, w) {
			t.Errorf("left out lacks %q:\n%s", w, left)
		}
	}
	if len(r.Stats.LeftOut) != len(wantLeft) || r.Outcome != "finished" {
		t.Errorf("outcome %s, left out:\n%s", r.Outcome, left)
	}
}

func TestHarvestDevice(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("not root: a device cannot be made, only its refusal by type is tested elsewhere")
	}
	b := newBench(t)
	r := run(t, b, values(b, t, shell(`mknod $SUBMISSION_DIR/zero c 1 5 || ln -s /dev/zero $SUBMISSION_DIR/zero`)))
	if len(r.Submission) != 0 || len(r.Stats.LeftOut) != 1 || r.Outcome != "no_submission" {
		t.Errorf("got %+v", r)
	}
}

// TestReplacedFolders lets an agent put other things where its folders were.
func TestReplacedFolders(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/submission.csv", []byte("not the agent's"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	r := run(t, b, values(b, t, shell(`cd ..; rmdir $SUBMISSION_DIR $CODE_DIR $LOGS_DIR
		ln -s `+outside+` $SUBMISSION_DIR; echo x > $LOGS_DIR`)))
	want := []string{"submission: replaced by a symbolic link", "logs: replaced by a file", "code: the folder was removed"}
	if diff := cmp.Diff(want, r.Stats.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if len(r.Submission) != 0 || len(r.Code) != 0 || r.Outcome != "no_submission" {
		t.Errorf("got %+v", r)
	}
}

// TestManyLeftOut sees that a list of what was left out stays short.
func TestManyLeftOut(t *testing.T) {
	b := newBench(t)
	r := run(t, b, values(b, t, shell(`cd $CODE_DIR; i=0; while [ $i -lt 50 ]; do ln -s x l$i; i=$((i+1)); done`)))
	if n := len(r.Stats.LeftOut); n != 21 || r.Stats.LeftOut[20] != "and 30 more" {
		t.Errorf("%d notes, the last %q", n, r.Stats.LeftOut[n-1])
	}
}

// TestNothingSurvives sees that nothing that the agent started can touch its
// folders any more when they are harvested.
func TestNothingSurvives(t *testing.T) {
	b := newBench(t)
	r := run(t, b, values(b, t, shell(`
		(trap '' TERM HUP; while :; do date +%N > $SUBMISSION_DIR/beat; sleep 0.01; done) &
		setsid sh -c 'while :; do date +%N > $SUBMISSION_DIR/beat2; sleep 0.01; done' &
		while [ ! -s $SUBMISSION_DIR/beat ] || [ ! -s $SUBMISSION_DIR/beat2 ]; do sleep 0.05; done; echo x > $SUBMISSION_DIR/submission.csv`)))
	if r.Stats.LeftoverProcesses < 2 || r.Outcome != "finished" {
		t.Errorf("outcome %s, stats %+v", r.Outcome, r.Stats)
	}
}
