package agentrun_test

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// TestLabelsInSandbox lets an agent in a sandbox search for a label, which is a canary, and
// change the held-out inputs.
func TestLabelsInSandbox(t *testing.T) {
	boxed := sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()
	if here := boxed.Here(); !here.OK {
		t.Skip(here.Because)
	}
	b := steptest.New(agentrun.Kind(agentrun.Deps{Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Runtimes: executor.NewRegistry(boxed)}))
	const canary, sought = "canary-of-labels", "canary-of-label[s]"
	run := func(line string) (cache.Outputs, string) {
		args := validating(b, t, shell(line), 2)
		args["runtime"] = cty.StringVal("sandbox")
		split := args["validation"].AsValueMap()
		split["private"] = b.Tree(t, map[string]string{"test.csv": "id,y\n3," + canary + "\n4,b\n"})
		args["validation"] = cty.ObjectVal(split)
		out, err := b.Run(t, args)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Log())
		}
		return out, b.Files(t, out["logs"].Ref)["output.log"]
	}
	_, printed := run(`for dir in /home /tmp /run /var /etc /proc/1 /proc/self/fd /; do grep -rlsI --devices=skip --exclude-dir=sys --exclude-dir=usr --exclude-dir=proc '` + sought + `' $dir; done
for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ | grep '` + sought + `'; done 2>/dev/null
find / -xdev -name 'labels*' -not -path '/usr/*' 2>/dev/null
echo x > $VALIDATION_DIR/x || echo read-only; cat $VALIDATION_DIR/test.csv; echo $VALIDATION_DIR`)
	if want := "read-only\n" + heldOutInputs["test.csv"] + "/home/validation\n"; !strings.HasSuffix(printed, want) || strings.Contains(printed, "labels") {
		t.Errorf("printed\n%s", printed)
	}
	out, printed := run(`printf 'id,y\n3,a\n4,b\n' > v.csv; curl -sS -F file=@v.csv http://localhost:5000/score`)
	if !strings.Contains(printed, `"left":1,"score":0.5`) {
		t.Errorf("printed\n%s", printed)
	}
	if list, _ := queriesOf(t, b, out); len(list) != 1 {
		t.Errorf("queries %+v", list)
	}
}
