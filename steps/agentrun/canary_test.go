package agentrun_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// canaries are the values of three secrets, one for each way to give one, and
// what else nobody may find of them: how JSON spells them, and the lines of a
// key.
var canaries = []string{
	"canary-env-5f1c", "canary-file-LINE-ONE-77", "canary-file-line-two-88",
	`canary-"cmd\<9a>`, `canary-\"cmd\\<9a>`, `canary-\"cmd\\\u003c9a\u003e`,
}

func canaryAgent(t *testing.T, line string) cty.Value {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"key": canaries[1] + "\n" + canaries[2] + "\n", "printed": canaries[3] + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CANARY_SOURCE", canaries[0])
	return who([]string{"/bin/sh", "-c", line}, map[string]cty.Value{"secrets": cty.MapVal(map[string]cty.Value{
		"E": cty.StringVal("env:CANARY_SOURCE"),
		"F": cty.StringVal("file:" + filepath.Join(dir, "key")),
		"C": cty.StringVal("command:cat " + filepath.Join(dir, "printed")),
	})})
}

// printCanaries prints every secret whole, in pieces, as JSON and within its
// environment; leaves them in files and in names of files and folders, some of
// which are left out.
const printCanaries = `
	for s in "$E" "$F" "$C"; do
		echo "whole $s end"
		for i in 1 5 9; do
			printf %s "$s" | head -c $i; sleep 0.02; printf %s "$s" | tail -c +$((i+1)); echo
		done
	done
	c=can; json=$c'ary-\"cmd\\<9a> '$c'ary-\"cmd\\\u003c9a\u003e'
	printf '%s\n' "$json"; env
	one=$(printf %s "$F" | head -n 1)
	for d in $SUBMISSION_DIR $LOGS_DIR $CODE_DIR; do
		cd $d
		printf '%s\n' "id $E" "$F" "$C" "$json" > submission.csv
		head -c 262140 /dev/zero | tr '\0' x > split; printf %s "$E" >> split
		mkdir "dir-$E"; echo inside > "dir-$E/$C"
		echo 1 > "$one-x"; echo 2 > '***-x'
		ln -s x "link-$E"; mkfifo "$E-pipe-$one"
	done`

func absent(t *testing.T, where, text string) {
	t.Helper()
	for _, c := range canaries {
		if strings.Contains(text, c) {
			t.Errorf("%s holds %q", where, c)
		}
	}
}

// TestCanaries sees that nothing that people read of an attempt has a secret, that what
// the agent left is as it left it, and that the result says where secrets are.
func TestCanaries(t *testing.T) {
	b := newBench(t)
	args := values(b, t, canaryAgent(t, printCanaries+`
	`+askSelf(t)+` validate $SUBMISSION_DIR/submission.csv; cp $SUBMISSION_DIR/submission.csv $CODE_DIR/"$E".csv
	`+askSelf(t)+` get "https://$E.example.com/"; `+askSelf(t)+` get "http://example.com/$E?x=$E"; rm -f $CODE_DIR/"$E".csv; sleep 1.5`))
	args["snapshot_every"] = cty.StringVal("1s")
	args["network"] = cty.ObjectVal(map[string]cty.Value{"allow": cty.ListVal([]cty.Value{cty.StringVal("example.org:443")})})
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	agents := []string{"code", "code_snapshots", "logs", "snapshots", "submission"}
	if diff := cmp.Diff(agents, b.SecretIn()); diff != "" {
		t.Errorf("outputs with a secret: %s", diff)
	}
	for name, value := range out {
		absent(t, "record of "+name, string(value.JSON))
		if !value.Ref.IsZero() && !slices.Contains(agents, name) {
			absent(t, "content of "+name, b.Text(t, value.Ref))
		}
	}
	for _, name := range []string{"submission", "logs", "code"} {
		files, lines := b.Files(t, out[name].Ref), canaries[1]+"\n"+canaries[2]
		if files["dir-"+canaries[0]+"/"+canaries[3]] != "inside\n" || files["***-x"] != "2\n" || !strings.HasSuffix(files["split"], "x"+canaries[0]) ||
			!strings.HasPrefix(files["submission.csv"], "id "+canaries[0]+"\n"+lines+"\n"+canaries[3]+"\n") {
			t.Errorf("%s is not what the agent left: %.2000q", name, fmt.Sprint(files))
		}
		absent(t, "output", files[agentrun.OutputLog])
	}
	for name, holds := range map[string]string{"network_log": `"host":"***.example.com"`, "validation_log": `"sha256":`} {
		if text := b.Text(t, out[name].Ref); !strings.Contains(text, holds) {
			t.Errorf("%s lacks %s: %s", name, holds, text)
		}
	}
	if len(b.Files(t, out["snapshots"].Ref)) == 0 {
		t.Error("no snapshot was taken")
	}
	absent(t, "log", b.Log())
	absent(t, "warnings", strings.Join(b.Warnings(), "\n"))
	for label, value := range b.Key(t, args) {
		absent(t, "key's "+label, value)
	}
	var left struct {
		LeftOut []string `json:"left_out"`
	}
	if err := json.Unmarshal(out["stats"].JSON, &left); err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(left.LeftOut, "\n")
	for _, want := range []string{"code/link-***: a symbolic link", "logs/***-pipe-***: a named pipe"} {
		if !strings.Contains(notes, want) {
			t.Errorf("what was left out lacks %q:\n%s", want, notes)
		}
	}
}

// TestWeakSecrets sees that a secret that is a word changes nothing, and that the plan
// names it without its value.
func TestWeakSecrets(t *testing.T) {
	b := newBench(t)
	t.Setenv("PIN_SOURCE", "1082")
	agent := who([]string{"/bin/sh", "-c", `echo id,1082 | tee $SUBMISSION_DIR/submission.csv $CODE_DIR/1082.py; echo "$PIN $WORD"`}, map[string]cty.Value{"secrets": cty.MapVal(map[string]cty.Value{
		"PIN": cty.StringVal("env:PIN_SOURCE"), "WORD": cty.StringVal("command:echo none"),
	})})
	args := values(b, t, agent)
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	code, submission := b.Files(t, out["code"].Ref), b.Files(t, out["submission"].Ref)
	if code["1082.py"] != "id,1082\n" || submission["submission.csv"] != "id,1082\n" || b.SecretIn() != nil || !strings.Contains(b.Log(), "1082 none") {
		t.Errorf("code %q, submission %q, secret in %q, log %s", code, submission, b.SecretIn(), b.Log())
	}
	s, err := b.Kind.New(b.Args(t, args))
	if err != nil {
		t.Fatal(err)
	}
	planned, ran := strings.Join(step.Unmasked(t.Context(), s), "\n"), strings.Join(b.Warnings(), "\n")
	if !strings.Contains(planned, `secret PIN of agent "`) || !strings.Contains(planned, "too weak") || strings.Contains(planned+ran, "1082") || strings.Contains(planned, "WORD") || !strings.Contains(ran, "secret WORD") {
		t.Errorf("the plan says %q, the run %q", planned, ran)
	}
}

// TestCanariesInErrors sees that what a broken machine says is masked, too.
func TestCanariesInErrors(t *testing.T) {
	broken := errors.Join(errBroken, fmt.Errorf("start with E=%s C=%s", canaries[0], canaries[3]))
	b := newBench(t, executor.Runtime{Name: "process", Doc: "x", Executor: failing{broken}})
	_, err := b.Run(t, values(b, t, canaryAgent(t, "true")))
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "E=*** C=***") {
		t.Fatalf("got %v", err)
	}
	absent(t, "error", err.Error())
}
