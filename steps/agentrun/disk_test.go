package agentrun_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// TestDiskLimit stops agents that store too much, in blocks or in holes, where no
// file system does, and keeps what they submitted before.
func TestDiskLimit(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"blocks":           `i=0; while :; do dd if=/dev/zero of=$AGENT_DIR/$i bs=1M count=4 2>/dev/null; i=$((i+1)); sleep 0.02; done`,
		"holes":            `i=0; while :; do truncate -s 8M $TMPDIR/$i; i=$((i+1)); sleep 0.02; done`,
		"shut folder":      `mkdir $CODE_DIR/a; dd if=/dev/zero of=$CODE_DIR/a/x bs=1M count=10 2>/dev/null; mkdir $CODE_DIR/a/b; dd if=/dev/zero of=$CODE_DIR/a/b/x bs=1M count=30 2>/dev/null; chmod 0 $CODE_DIR/a/b $CODE_DIR/a; sleep 60`,
		"too deep to name": `cd $AGENT_DIR; i=0; while [ $i -lt 900 ]; do mkdir aaaaaaaaa; cd -P aaaaaaaaa 2>/dev/null || exit 1; i=$((i+1)); done; dd if=/dev/zero of=x bs=1M count=30 2>/dev/null; dd if=/dev/zero of=y bs=1M count=10 2>/dev/null; sleep 60`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			args := values(b, t, shell("echo id > $SUBMISSION_DIR/submission.csv; "+line))
			args["disk_limit"] = cty.StringVal("32MiB")
			r := run(t, b, args)
			if r.Outcome != "out_of_disk" || r.Submission["submission.csv"] != "id\n" {
				t.Errorf("got %s and %v", r.Outcome, r.Submission)
			}
		})
	}
}

// TestDiskOfOneFile cannot write a file beyond the limit at all.
func TestDiskOfOneFile(t *testing.T) {
	b := newBench(t)
	args := values(b, t, shell(`truncate -s 1T $AGENT_DIR/huge; ls -s $AGENT_DIR > $SUBMISSION_DIR/submission.csv`))
	args["disk_limit"] = cty.StringVal("32MiB")
	if r := run(t, b, args); r.Outcome != "finished" {
		t.Errorf("got %s", r.Outcome)
	}
}

// TestHolesAreHarvestedAsBytes takes no more zeros than the agent might have
// stored.
func TestHolesAreHarvestedAsBytes(t *testing.T) {
	b := newBench(t)
	args := values(b, t, shell(`cd $CODE_DIR; for i in 1 2 3 4; do truncate -s 12M $i; done; echo id > $SUBMISSION_DIR/submission.csv`))
	args["disk_limit"] = cty.StringVal("32MiB")
	r := run(t, b, args)
	left := strings.Join(r.Stats.LeftOut, "\n")
	if r.Outcome != "finished" && r.Outcome != "out_of_disk" || len(r.Code) != 2 || !strings.Contains(left, "code/3: 12582912 bytes") || !strings.Contains(left, "code/4") {
		t.Errorf("got %s, %d files of code, left out:\n%s", r.Outcome, len(r.Code), left)
	}
}

func TestWrongDiskLimit(t *testing.T) {
	b := newBench(t)
	for text, want := range map[string]string{"lots": "is not a size", "1MiB": "less than the minimum"} {
		args := values(b, t, shell("true"))
		args["disk_limit"] = cty.StringVal(text)
		if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	args := values(b, t, shell("true"))
	args["disk_limit"] = cty.StringVal("unlimited")
	run(t, b, args)
}
