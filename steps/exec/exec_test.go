package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/steps/exec"
	"github.com/mleflow/mleflow/steps/steptest"
)

func newBench() *steptest.Bench { return steptest.New(exec.Kind(process.New(""))) }

func texts(words ...string) cty.Value {
	list := make([]cty.Value, len(words))
	for i, w := range words {
		list[i] = cty.StringVal(w)
	}
	return cty.ListVal(list)
}

func shell(line string) cty.Value { return texts("sh", "-c", line) }

func TestRun(t *testing.T) {
	b := newBench()
	out, err := b.Run(t, map[string]cty.Value{
		"command": shell(`cat inputs/words/a inputs/one; cat; echo "$GREETING"; mkdir -p out/deep; sort inputs/words/a > out/deep/sorted; echo x > flat; chmod +x flat; echo note >&2`),
		"inputs":  cty.MapVal(map[string]cty.Value{"words": b.Tree(t, map[string]string{"a": "b\na\n"}), "one": b.Blob(t, "single\n")}),
		"stdin":   b.Blob(t, "from stdin\n"),
		"env":     cty.MapVal(map[string]cty.Value{"GREETING": cty.StringVal("hello")}),
		"outputs": texts("out", "flat"),
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	if got, want := b.Text(t, out["stdout"].Ref), "b\na\nsingle\nfrom stdin\nhello\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	want := map[string]string{"out/deep/sorted": "a\nb\n", "flat": "x\n"}
	if diff := cmp.Diff(want, b.Files(t, out["tree"].Ref)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	if got, want := b.Log(), "b\na\nsingle\nfrom stdin\nhello\n"; strings.Replace(got, "note\n", "", 1) != want || !strings.Contains(got, "note\n") {
		t.Errorf("log %q, want %q and the note", got, want)
	}
}

// TestLog looks for what a command printed in the log, however it ended.
func TestLog(t *testing.T) {
	b := newBench()
	if _, err := b.Run(t, map[string]cty.Value{"command": shell("printf 'printed\nlast'; echo wrong >&2; exit 3")}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatal(err)
	}
	for _, line := range []string{"printed\n", "last\n", "wrong\n"} {
		if !strings.Contains(b.Log(), line) {
			t.Errorf("log %q lacks %q", b.Log(), line)
		}
	}
	b = newBench()
	out, err := b.Run(t, map[string]cty.Value{"command": shell("yes abcdefg | head -c 3000000")})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.Log()); n < 1<<20 || n > 1<<20+100 || !strings.Contains(b.Log(), "(1951424 more bytes of standard output are in the output stdout)") {
		t.Errorf("log of %d bytes ends with %q", n, b.Log()[max(0, n-100):])
	}
	if out["stdout"].Ref.Size != 3000000 {
		t.Errorf("stdout has %d bytes", out["stdout"].Ref.Size)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("LEAK", "must not be seen")
	b := newBench()
	out, err := b.Run(t, map[string]cty.Value{
		"command": shell(`env | cut -d= -f1 | sort | tr '\n' ' '; ls -a | sort | tr '\n' ' '; test -w "$HOME" && test -w "$TMPDIR" && echo writable`),
		"env":     cty.MapVal(map[string]cty.Value{"OWN": cty.StringVal("1")}),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(b.Text(t, out["stdout"].Ref), process.MarkerVariable+" ", "")
	got = strings.NewReplacer("PWD ", "", "SHLVL ", "", "_ ", "").Replace(got) // the shell's own
	if want := "HOME OWN PATH TMPDIR . .. inputs writable\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name, line, output, want string
	}{
		{"status", "echo no >&2; exit 3", "", "exit status 3"},
		{"signal", "kill -9 $$", "", "signal 9"},
		{"missing output", "echo x > outputs.csv", "output.csv", `did not create the output "output.csv"; its folder contains outputs.csv`},
		{"nothing left", "true", "out", `did not create the output "out"; its folder is empty`},
		{"link as output", "ln -s /etc/passwd out", "out", "neither a file nor a folder but a symbolic link"},
		{"link in output", "mkdir out; ln -s /etc/passwd out/p", "out", "symbolic link"},
		{"output below a link", "ln -s /etc out", "out/passwd", `below the symbolic link "out"`},
		{"pipe as output", "mkfifo out", "out", "neither a file nor a folder but a named pipe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			values := map[string]cty.Value{"command": shell(tt.line)}
			if tt.output != "" {
				values["outputs"] = texts(tt.output)
			}
			_, err := newBench().Run(t, values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	b := newBench()
	in := b.Blob(t, "x")
	tests := []struct {
		name   string
		values map[string]cty.Value
		want   string
	}{
		{"no command", map[string]cty.Value{"command": cty.ListValEmpty(cty.String)}, "command is empty"},
		{"input name", map[string]cty.Value{"command": texts("true"), "inputs": cty.MapVal(map[string]cty.Value{"../x": in})}, `"../x"`},
		{"absolute output", map[string]cty.Value{"command": texts("true"), "outputs": texts("/etc/passwd")}, "must be a clean relative path"},
		{"output outside", map[string]cty.Value{"command": texts("true"), "outputs": texts("../x")}, "must be a clean relative path"},
		{"everything", map[string]cty.Value{"command": texts("true"), "outputs": texts(".")}, "must be a clean relative path"},
		{"output among inputs", map[string]cty.Value{"command": texts("true"), "outputs": texts("inputs/x")}, "below inputs/"},
		{"overlap", map[string]cty.Value{"command": texts("true"), "outputs": texts("a/b", "a")}, "overlap"},
		{"variable", map[string]cty.Value{"command": texts("true"), "env": cty.MapVal(map[string]cty.Value{"A=B": cty.StringVal("x")})}, `"A=B"`},
		{"tree on standard input", map[string]cty.Value{"command": texts("cat"), "stdin": b.Tree(t, map[string]string{"a": "x"})}, "standard input must be one file"},
		{"no program", map[string]cty.Value{"command": texts("no-such-program")}, "no such program"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := b.Run(t, tt.values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// A command that failed may be tried again, one that cannot start is not.
func TestRetryable(t *testing.T) {
	b := newBench()
	for _, tt := range []struct {
		name    string
		command cty.Value
		want    bool
	}{
		{"exit status", shell("exit 3"), true},
		{"signal", shell("kill -9 $$"), true},
		{"no program", texts("no-such-program"), false},
	} {
		_, err := b.Run(t, map[string]cty.Value{"command": tt.command})
		if _, got := step.IsRetryable(err); err == nil || got != tt.want {
			t.Errorf("%s: error %v, retryable %v, want %v", tt.name, err, got, tt.want)
		}
	}
}

func TestWritableInputs(t *testing.T) {
	b := newBench()
	out, err := b.Run(t, map[string]cty.Value{
		"command":         shell("echo more >> inputs/in/a; cat inputs/in/a"),
		"inputs":          cty.MapVal(map[string]cty.Value{"in": b.Tree(t, map[string]string{"a": "x\n"})}),
		"writable_inputs": cty.True,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Log())
	}
	if got := b.Text(t, out["stdout"].Ref); got != "x\nmore\n" {
		t.Errorf("got %q", got)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := newBench().RunIn(t, ctx, steptest.WorkDir(t), map[string]cty.Value{"command": texts("sleep", "60")})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 40*time.Second {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
}

func TestKey(t *testing.T) {
	b := newBench()
	base := func() map[string]cty.Value {
		return map[string]cty.Value{
			"command": texts("sort", "inputs/a"),
			"inputs":  cty.MapVal(map[string]cty.Value{"a": b.Blob(t, "x")}),
			"env":     cty.MapVal(map[string]cty.Value{"LANG": cty.StringVal("C")}),
			"outputs": texts("o"),
		}
	}
	first := b.Key(t, base())
	for name, changed := range map[string]cty.Value{
		"command": texts("sort", "inputs/b"),
		"inputs":  cty.MapVal(map[string]cty.Value{"a": b.Blob(t, "y")}),
		"env":     cty.MapVal(map[string]cty.Value{"LANG": cty.StringVal("D")}),
		"outputs": texts("p"),
		"stdin":   b.Blob(t, "z"),
	} {
		values := base()
		values[name] = changed
		if cmp.Equal(first, b.Key(t, values)) {
			t.Errorf("%s changes the result and not the key", name)
		}
	}
}

// TestDamagedInput runs on a store whose blobs are linked, as those on disk.
func TestDamagedInput(t *testing.T) {
	b := newBench()
	store := newLinkingStore(t, b.Store)
	b.Store = store
	in := b.Tree(t, map[string]string{"data.csv": "1,2\n", "other.csv": "3\n"})
	values := func(line string) map[string]cty.Value {
		return map[string]cty.Value{"command": shell(line), "inputs": cty.MapVal(map[string]cty.Value{"in": in})}
	}
	for _, harmless := range []string{
		"cat inputs/in/data.csv",
		"ln inputs/in/data.csv copy",
		"chmod +w inputs/in; rm -f inputs/in/data.csv; echo mine > inputs/in/data.csv",
	} {
		if _, err := b.Run(t, values(harmless)); err != nil {
			t.Errorf("%s: %v", harmless, err)
		}
	}
	_, err := b.Run(t, values("chmod +w inputs/in/data.csv; echo 9,9 > inputs/in/data.csv; exit 1"))
	if err == nil || !strings.Contains(err.Error(), "changed its input inputs/in/data.csv") {
		t.Errorf("got %v, want an error that names the changed input", err)
	}
	if n := len(store.aside); n != 1 {
		t.Errorf("%d objects were set aside, want 1", n)
	}
	if entries, _ := filepath.Glob(filepath.Join(store.dir, "*")); len(entries) == 0 {
		t.Error("nothing was ever linked; the test shows nothing")
	}
}

// TestPython has an environment of this machine: it is active for the command, its path
// is in no key, and results say that nobody else has it.
func TestPython(t *testing.T) {
	b := newBench()
	venv := t.TempDir()
	if err := os.MkdirAll(filepath.Join(venv, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(venv, "bin", "greet"), []byte("#!/bin/sh\necho hello from $VIRTUAL_ENV\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	values := map[string]cty.Value{"command": texts("greet"), "python": b.Tree(t, map[string]string{"packages.txt": "greet==1"}), "venv": cty.StringVal(venv)}
	out, err := b.Run(t, values)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.Text(t, out["stdout"].Ref), "hello from "+venv+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	key := b.Key(t, values)
	values["venv"] = cty.StringVal("/elsewhere")
	if !cmp.Equal(key, b.Key(t, values)) {
		t.Error("the path of the environment is in the key")
	}
	values["python"] = b.Tree(t, map[string]string{"packages.txt": "greet==2"})
	if cmp.Equal(key, b.Key(t, values)) {
		t.Error("its packages are not in the key")
	}
	s, err := b.Kind.New(b.Args(t, values))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.(step.Conditioned).Conditions(); !slices.Equal(got, []string{"environment=host-venv"}) {
		t.Errorf("conditions %q", got)
	}
}
