package pyenv

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// spy is a stand-in for uv that tells what it sees.
const spy = `#!/bin/sh
case "$1 ${2-}" in
"--version ") echo "uv 0.13.9"; exit ;;
esac
{
	env
	cat "SECRET" ./* "$HOME/.netrc" /proc/net/dev
} >"$UV_CACHE_DIR/saw" 2>/dev/null
for word in "$@"; do
	[ "${last-}" != --output-file ] || sed 's/$/==1 --hash=sha256:HASH/' requirements.txt >"$word"
	last=$word
done
`

// TestRoom has a stand-in for uv look at this machine: in the sandbox it sees neither
// its files nor the user's variables. Without one it has the same environment.
func TestRoom(t *testing.T) {
	i, err := Find(t.Context(), "")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	uv := filepath.Join(filepath.Dir(secret), "uv")
	text := strings.NewReplacer("SECRET", secret, "HASH", strings.Repeat("0", 64)).Replace(spy)
	if err := os.WriteFile(secret, []byte("canary of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(uv, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(UVVariable, uv)
	t.Setenv("CANARY", "canary of the environment")
	t.Setenv("UV_NO_BINARY", "canary")
	t.Setenv("UV_INDEX", "https://index.example/simple")
	for name := range indexesOf(os.Environ()).upstream {
		t.Setenv(name, "")
	}
	look := func(rt executor.Runtime) (saw string, said string) {
		o := Options{Dir: t.TempDir(), Work: t.TempDir(), Python: i, Sandbox: rt, Say: func(line string) { said += line + "\n" }}
		tool, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		list, err := tool.Lock(t.Context(), List{Packages: []Package{{Name: "six"}}}, nil)
		if err != nil || len(list.Packages) != 1 || list.Packages[0].Version() != "1" {
			t.Fatalf("%v: %v", list, err)
		}
		text, err := os.ReadFile(filepath.Join(o.Dir, "packages", "saw"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text), said
	}
	saw, said := look(executor.Runtime{})
	if strings.Contains(saw, "canary of the environment") || strings.Contains(saw, "UV_NO_BINARY") || !strings.Contains(saw, "UV_INDEX=https://index.example/simple") || !strings.Contains(said, "without a sandbox") {
		t.Errorf("%s\nsaw\n%s", said, saw)
	}
	rt := sandbox.New(sandbox.Options{Dir: t.TempDir()}).Runtime()
	if _, err := rt.Executor.Run(t.Context(), executor.Spec{ID: t.Name(), Image: rt.HostImage, Command: []string{"true"}}, io.Discard); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	saw, said = look(rt)
	if strings.Contains(saw, "canary") || !strings.Contains(saw, "HTTPS_PROXY=http://127.0.0.1:3128") || !strings.Contains(saw, "HOME=/work/home") || strings.Contains(said, "without a sandbox") {
		t.Errorf("%s\nsaw\n%s", said, saw)
	}
	if _, devices, _ := strings.Cut(saw, "Inter-|"); strings.Count(devices, ":") != 1 {
		t.Errorf("its network devices are %s", devices)
	}
}
