package agentrun_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/steptest"
)

// lines decodes JSON lines.
func lines[T any](t *testing.T, text string) []T {
	t.Helper()
	var out []T
	for line := range strings.Lines(text) {
		var one T
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, one)
	}
	return out
}

func TestValidityServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out, err := b.Run(t, values(b, t, shell(`cd $CODE_DIR
		printf 'id,y\n11,b\n12,a\n' > good; printf 'id,y\n11,b\n' > short; printf 'id,x\n11,b\n12,a\n' > columns; head -c 1000 /dev/urandom > noise
		`+askSelf(t)+` validate $DATA_DIR/sample_submission.csv good short columns noise
		`+askSelf(t)+` get $MLEFLOW_GATEWAY/health $MLEFLOW_GATEWAY/answers`)))
	if err != nil {
		t.Fatal(err)
	}
	var replies []string
	for line := range strings.SplitSeq(strings.TrimSpace(b.Files(t, out["logs"].Ref)["output.log"]), "\n") {
		replies = append(replies, strings.SplitN(line, "read as a table", 2)[0])
	}
	want := []string{
		`200 {"result":"Submission is valid."}`, `200 {"result":"Submission is valid."}`,
		`200 {"result":"Submission invalid! there are 1 rows; expected 2"}`,
		`200 {"result":"Submission invalid! column \"y\" is missing"}`,
		`200 {"result":"Submission invalid! the file cannot be `,
		`200 {"status":"running"}`, `404 404 page not found`,
	}
	if diff := cmp.Diff(want, replies); diff != "" && !strings.Contains(replies[4], "column") {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
	calls := lines[validity.Call](t, b.Text(t, out["validation_log"].Ref))
	var classes []string
	for _, c := range calls {
		classes = append(classes, fmt.Sprint(c.Valid, " ", c.Class, " ", len(c.SHA256)))
	}
	if diff := cmp.Diff([]string{"true  64", "true  64", "false rows 64", "false columns 64"}, classes[:4]); diff != "" || len(classes) != 5 {
		t.Errorf("validation log (-want +got):\n%s", diff)
	}
	var stats struct{ Validations int }
	steptest.Decode(t, out["stats"], &stats)
	if stats.Validations != 5 {
		t.Errorf("%d validations", stats.Validations)
	}
}

// TestSpoiltSample sees that an agent cannot change what its file is compared
// with.
func TestSpoiltSample(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := run(t, b, values(b, t, shell(`printf 'id,y\n1,a\n' > $CODE_DIR/x; cd $DATA_DIR; chmod -R u+w .; cp $CODE_DIR/x sample_submission.csv
		`+askSelf(t)+` validate $CODE_DIR/x`)))
	if !strings.Contains(r.Logs["output.log"], "Submission invalid!") {
		t.Errorf("got %q", r.Logs["output.log"])
	}
}

// TestNoSample sees that the server is there though there is nothing to
// compare with.
func TestNoSample(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell(`echo a,b > $CODE_DIR/x; `+askSelf(t)+` validate $CODE_DIR/x`))
	args["data"] = b.Tree(t, map[string]string{"train.csv": "x"})
	if r := run(t, b, args); !strings.Contains(r.Logs["output.log"], validity.Valid) || !strings.Contains(b.Log(), "no sample submission") {
		t.Errorf("got %q\n%s", r.Logs["output.log"], b.Log())
	}
}

func TestBudgetOfAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Limits.Timeout = time.Minute
	r := run(t, b, values(b, t, shell(askSelf(t)+" budget")))
	var reply struct {
		Limit     float64 `json:"limit_seconds"`
		Remaining float64 `json:"remaining_seconds"`
	}
	_, text, _ := strings.Cut(r.Logs["output.log"], " ")
	if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Limit != 60 || reply.Remaining < 30 || reply.Remaining >= 60 {
		t.Errorf("got %q (%v)", text, err)
	}
}

// TestProxyOfAgent sees what an agent reaches that keeps to its proxy.
func TestProxyOfAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell(askSelf(t)+` get https://example.com/ http://169.254.169.254/; echo $http_proxy $NO_PROXY`))
	args["network"] = cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("example.org:443")})})
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	text := b.Files(t, out["logs"].Ref)["output.log"]
	if !strings.HasPrefix(text, "error\n403 mleflow: refused: 169.254.169.254:80") || !strings.Contains(text, "http://127.0.0.1:") || !strings.HasSuffix(text, " localhost,127.0.0.1,::1\n") {
		t.Errorf("got %q", text)
	}
	type line struct{ Host, Verdict string }
	want := []line{{"example.com", "refused"}, {"169.254.169.254", "refused"}}
	if diff := cmp.Diff(want, lines[line](t, b.Text(t, out["network_log"].Ref))); diff != "" {
		t.Errorf("network log (-want +got):\n%s", diff)
	}
	if r := result2(t, out); r.Network != "open" || r.Connections != 2 {
		t.Errorf("stats %+v", r)
	}
}

func TestOpenNetworkIsSaid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell("true"))
	args["network"] = cty.ObjectVal(map[string]cty.Value{"open": cty.True})
	if r := run(t, b, args); r.Stats.Network != "open" || !strings.Contains(strings.Join(b.Warnings(), "\n"), "the network is open") || !strings.Contains(b.Log(), "network open)") {
		t.Errorf("stats %+v\n%s", r.Stats, b.Log())
	}
}

// TestSketchedVerdicts sees that the validity server judges by the ids of the answers,
// which here are not those of the sample.
func TestSketchedVerdicts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	args := values(b, t, shell(`cd $CODE_DIR
		printf 'id,y\n12,b\n13,a\n' > right
		`+askSelf(t)+` validate $DATA_DIR/sample_submission.csv right`))
	args["sketch"] = b.Tree(t, map[string]string{
		grading.SketchRows: "id,mleflow_scored\n12,True\n13,True\n", grading.SketchSample: toyData["sample_submission.csv"],
	})
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	var valid []bool
	for _, c := range lines[validity.Call](t, b.Text(t, out["validation_log"].Ref)) {
		valid = append(valid, c.Valid)
	}
	if diff := cmp.Diff([]bool{false, true}, valid); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	args["sketch"] = b.Tree(t, map[string]string{grading.SketchSample: "id,y\n11,a\n"})
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "place sketch") {
		t.Errorf("half a sketch: %v", err)
	}
}
