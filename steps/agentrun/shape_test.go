package agentrun_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// plainScript is a start script of the reference's shape that knows its folders
// by their variables, as it must where nothing is mounted: its text is made of
// the instructions, its own notes and the description, its folders are links, its
// arguments are passed on, and there is a limit of its own.
const plainScript = `#!/bin/sh
set -eu
cd ${AGENT_DIR}
cp $INSTRUCTIONS_FILE ${AGENT_DIR}/full_instructions.txt
echo "$TIME_LIMIT_SECS s, $STEP_LIMIT steps" >> ${AGENT_DIR}/full_instructions.txt
cat $DATA_DIR/description.md >> ${AGENT_DIR}/full_instructions.txt
mkdir -p ${AGENT_DIR}/workspaces/exp ${AGENT_DIR}/logs
ln -s ${LOGS_DIR} ${AGENT_DIR}/logs/exp
ln -s ${CODE_DIR} ${AGENT_DIR}/workspaces/exp/best_solution
ln -s ${SUBMISSION_DIR} ${AGENT_DIR}/workspaces/exp/best_submission
timeout $TIME_LIMIT_SECS sh -c 'cp $DATA_DIR/sample_submission.csv workspaces/exp/best_submission/submission.csv
  cp full_instructions.txt logs/exp/; echo "$@" > workspaces/exp/best_solution/arguments' run "$@"
`

// TestPlainShape runs such a script by the process runtime.
func TestPlainShape(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "start.sh")
	if err := os.WriteFile(script, []byte(plainScript), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.Limits.Timeout = 2 * time.Minute
	texts := func(words ...string) cty.Value {
		list := make([]cty.Value, len(words))
		for i, w := range words {
			list[i] = cty.StringVal(w)
		}
		return cty.ListVal(list)
	}
	r := run(t, b, values(b, t, who([]string{script}, map[string]cty.Value{
		"args": texts("agent.steps=3", "agent.code.model=m"),
		"env":  cty.MapVal(map[string]cty.Value{"STEP_LIMIT": cty.StringVal("3")}),
	})))
	if !strings.Contains(r.Logs["full_instructions.txt"], "\n120 s, 3 steps\n") {
		t.Errorf("the limits are not told: %s", r.Logs["full_instructions.txt"])
	}
	if r.Outcome != "finished" || r.Code["arguments"] != "agent.steps=3 agent.code.model=m\n" || len(r.Logs["full_instructions.txt"]) < 500 {
		t.Errorf("outcome %s, code %v, logs %v", r.Outcome, r.Code, r.Logs)
	}
}
