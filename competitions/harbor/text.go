package harbor

import (
	"fmt"

	"github.com/mleflow/mleflow/competitions"
)

// testScript ends with status 1 and no reward if grading itself fails, which
// Harbor reports as an error: that is not the submission's fault.
const testScript = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
logs=${MLEFLOW_REWARD_DIR:-/logs/verifier}
mkdir -p "$logs"
submission=${MLEFLOW_SUBMISSION:-/home/submission/submission.csv}
if [ -L "$submission" ]; then # it could lead to the answers
  echo "The submission is a symbolic link, which does not count."
  submission=$here/none
fi
"$here/mleflow" grade-sample "$submission" %s \
  --data-dir "$here/data" --reward %s --reward-dir "$logs"
status=$?
[ $status = 4 ] && status=0
exit $status
`

func (w *Writer) config(def *competitions.Definition) string {
	micro := ""
	if w.Micro > 0 {
		micro = fmt.Sprintf("micro = %d\nseed = %d\n", w.Micro, w.Seed)
	}
	agent, verifier := "", ""
	if w.Images != "" {
		agent = fmt.Sprintf("docker_image = %q\n", w.Images+"/"+w.name(def)+"-agent")
		verifier = fmt.Sprintf("docker_image = %q\n", w.Images+"/"+w.name(def)+"-verifier")
	}
	return fmt.Sprintf(`schema_version = "1.1"
artifacts = ["/home/submission/submission.csv"]

[task]
name = "mleflow/%s"

[metadata]
competition_version = %q
reward = %q
%s
[agent]
timeout_sec = 86400.0

[verifier]
timeout_sec = 3600.0
environment_mode = "separate"

[verifier.environment]
%snetwork_mode = "no-network"
cpus = 2
memory_mb = 8192

[environment]
%snetwork_mode = "no-network"
build_timeout_sec = 3600.0
cpus = 4
memory_mb = 16384
`, w.name(def), def.Version, w.Reward, micro, verifier, agent)
}

func instruction(def *competitions.Definition) string {
	return fmt.Sprintf(rules, def.ID) + "\n" + string(def.OwnDescription())
}

// rules are the rules of our own instructions that hold without our
// agent's server.
const rules = `You take part in the machine-learning competition %s, offline.

Train a model on the training data, predict the test data, and leave the
predictions as one CSV file. Hand-labelling the test data is not allowed, and
neither are other people's solutions.

- Data: /home/data. If description.md is there, read it first.
- Submission: /home/submission/submission.csv, in the form of the sample
  submission. No file there means no score.

The data were split again, so that numbers of rows, file names and columns may
differ from what the competition's text says. Where they disagree, this text is
right. The score is computed with the competition's metric after you have ended.
`
