package agentrun_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// startScript is a start script with the habits of the reference's agents: the
// image's working directory below /home, conda's environment, the variables of
// the agent's configuration, the folders by variable and by name, links into
// the kept folders, a limit of its own, and the server asked by the script.
const startScript = `#!/bin/bash
set -e -x
[[ $PWD = /home/agent/work ]]
eval "$(conda shell.bash hook)"
conda activate agent
[[ $CONDA_DEFAULT_ENV = agent ]]
if command -v nvidia-smi > /dev/null; then exit 1; else HARDWARE="a CPU"; fi
export HARDWARE TIME_LIMIT="$((TIME_LIMIT_SECS / 3600))hrs $(((TIME_LIMIT_SECS % 3600) / 60))mins"
if ls /private; then exit 1; fi
if [ "$OBFUSCATE" = "true" ]; then exit 1; fi
cd "${AGENT_DIR}"
cp /home/instructions.txt full_instructions.txt
echo "$HARDWARE, $TIME_LIMIT, $STEP_LIMIT steps" >> full_instructions.txt
cat /home/data/description.md >> full_instructions.txt
mkdir -p workspaces/exp logs
ln -s ${LOGS_DIR} logs/exp
ln -s ${CODE_DIR} workspaces/exp/best_solution
ln -s ${SUBMISSION_DIR} workspaces/exp/best_submission
timeout $TIME_LIMIT_SECS cp /home/data/sample_submission.csv workspaces/exp/best_submission/submission.csv
cp full_instructions.txt logs/exp/
: > "$CODE_DIR/code.py"; : > "$AGENT_DIR/agent_was_here.txt"; : > /home/anywhere
[[ -s /home/instructions.txt && -s /home/data/description.md && -x /home/validate_submission.sh ]]
[[ $SUBMISSION_DIR = /home/submission && $LOGS_DIR = /home/logs && $CODE_DIR = /home/code && $AGENT_DIR = /home/agent ]]
[[ $FROM_IMAGE = yes && $1 = agent.steps=500 && $COMPETITION_ID = toy && -n $OPENAI_API_KEY ]]
[[ $(< /dev/null) = "" && -d /dev/shm ]]
echo more >> /home/instructions.txt
${AGENT_DIR}/main act id ""
bash /home/validate_submission.sh /home/submission/submission.csv
`

// Stand-ins for programs of the reference's image.
const (
	conda = `#!/bin/bash
echo 'conda() { [ "$1" = activate ] && export CONDA_DEFAULT_ENV="$2" PATH="/opt/conda/envs/$2/bin:$PATH"; }'
`
	curl = `#!/bin/bash
for word; do case $word in file=@*) exec /home/agent/main act validate "${word#file=@}";; esac; done
exit 2
`
)

// programs are files of the host with the libraries that they need.
func programs(t *testing.T, paths ...string) []image.File {
	t.Helper()
	listed, err := exec.CommandContext(t.Context(), "ldd", paths...).Output() //nolint:gosec // programs of the host
	if err != nil {
		t.Fatalf("list the libraries of %v: %v", paths, err)
	}
	all := slices.Clone(paths)
	for word := range strings.FieldsSeq(string(listed)) {
		if strings.HasPrefix(word, "/") && !strings.HasSuffix(word, ":") {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	var files []image.File
	for _, file := range slices.Compact(all) {
		files = append(files, image.File{Host: file, Guest: file})
	}
	return files
}

// imageOf makes an image of the test program and these files.
func imageOf(t *testing.T, config image.Config, files ...image.File) cty.Value {
	t.Helper()
	recipe, err := containerdtest.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	recipe.Files, recipe.Config = append(recipe.Files, files...), config
	made, err := (&image.Builder{Dir: t.TempDir()}).Build(t.Context(), recipe, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return cty.StringVal(made.Path)
}

// testReferenceShape runs an agent's image as the reference has it.
func testReferenceShape(t *testing.T, d *containerdtest.Daemon) {
	made := imageOf(t,
		image.Config{Env: map[string]string{"PATH": "/opt/conda/bin:/usr/bin:/bin", "FROM_IMAGE": "yes", "AGENT_DIR": "/home/agent"}, Dir: "/home/agent/work"},
		append(programs(t, "/bin/bash", "/bin/cat", "/bin/cp", "/bin/ln", "/bin/ls", "/bin/mkdir", "/usr/bin/dirname", "/usr/bin/timeout"),
			image.File{Text: startScript, Guest: "/home/agent/start.sh", Mode: 0o755},
			image.File{Guest: "/home/agent/work/"}, image.File{Guest: "/private/", Mode: 0o700},
			image.File{Text: conda, Guest: "/opt/conda/bin/conda", Mode: 0o755}, image.File{Text: curl, Guest: "/usr/bin/curl", Mode: 0o755},
			image.File{Host: os.Args[0], Guest: "/home/agent/main"}, image.File{Host: "/bin/bash", Guest: "/bin/sh"},
			image.File{Text: "old text", Guest: "/home/instructions.txt"}, image.File{Text: "exit 1", Guest: "/home/validate_submission.sh"})...)
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	b := newBench(t, e.Runtime())
	b.Limits.Timeout = 2 * time.Minute
	t.Setenv("OPENAI_API_KEY", "sk-of-the-host")
	args := values(b, t, who([]string{"bash", "/home/agent/start.sh"}, map[string]cty.Value{
		"image": made, "args": cty.ListVal([]cty.Value{cty.StringVal("agent.steps=500")}),
		"env":     cty.MapVal(map[string]cty.Value{"STEP_LIMIT": cty.StringVal("500")}),
		"secrets": cty.MapVal(map[string]cty.Value{"OPENAI_API_KEY": cty.StringVal("env:OPENAI_API_KEY")}),
	}))
	args["runtime"] = cty.StringVal("containerd")
	r := run(t, b, args)
	if r.Outcome != "finished" || !strings.Contains(r.Logs["output.log"], validity.Valid) || !strings.Contains(r.Logs["output.log"], "id: 1000 1000") {
		t.Errorf("outcome %s\n%s", r.Outcome, r.Logs["output.log"])
	}
	if _, ok := r.Code["code.py"]; !ok {
		t.Errorf("code %v", r.Code)
	}
	if text := r.Logs["full_instructions.txt"]; !strings.Contains(text, "\na CPU, 0hrs 2mins, 500 steps\n# Toy") {
		t.Errorf("the agent's own text: %s", text)
	}
}

// pythonFiles prints, as JSON, the interpreter's file, its prefix and the files
// of the modules that the shim and its agent need.
const pythonFiles = `
import argparse, datetime, difflib, encodings.idna, http.client, importlib, inspect, json, logging, os, pathlib, sys, time, urllib.parse, uuid, zipfile
files = {m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)}
print(json.dumps({"program": os.path.realpath(sys.executable), "prefix": sys.base_prefix, "files": sorted(f for f in files if os.path.isfile(f))}))
`

// testContainedShim runs the shim in a container, by the image's own Python:
// here that of the host.
func testContainedShim(t *testing.T, d *containerdtest.Daemon) {
	needPython(t)
	text, err := exec.CommandContext(t.Context(), "python3", "-S", "-I", "-c", pythonFiles).Output()
	if err != nil {
		t.Fatal(err)
	}
	var py struct {
		Program, Prefix string
		Files           []string
	}
	if err := json.Unmarshal(text, &py); err != nil {
		t.Fatal(err)
	}
	objects := []string{"/bin/bash", "/bin/cat", py.Program}
	files := []image.File{{Host: "/bin/bash", Guest: "/bin/sh"}}
	for _, file := range py.Files {
		if filepath.Ext(file) == ".so" {
			objects = append(objects, file)
		} else {
			files = append(files, image.File{Host: file, Guest: file})
		}
	}
	files = append(files, programs(t, objects...)...)
	made := imageOf(t, image.Config{Env: map[string]string{"PATH": filepath.Dir(py.Program) + ":/usr/bin:/bin", "PYTHONHOME": py.Prefix, "PYTHONPATH": "/nowhere"}},
		append(files, image.File{Host: py.Program, Guest: filepath.Join(filepath.Dir(py.Program), "python3")})...)
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	b := newBench(t, e.Runtime())
	args := values(b, t, who([]string{"sh", "-c", shimAgent}, map[string]cty.Value{
		"image": made, "secrets": cty.MapVal(map[string]cty.Value{"TOKEN": cty.StringVal("env:TOKEN_SOURCE")}),
	}))
	args["runtime"] = cty.StringVal("containerd")
	checkShim(t, b, args)
}
