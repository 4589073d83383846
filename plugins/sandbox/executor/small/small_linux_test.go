package small

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// TestHold starts the small program from memory. The launcher in it says why it cannot
// launch; what is no program is not offered.
func TestHold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	if text, err := exec.Command("go", "build", "-o", file, "./program").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path := held(t, text)
	for args, want := range map[string]int{"": 0, first.LaunchCommand: 1} {
		cmd := exec.Command(path, args, "nothing to read")
		cmd.Env = first.Env()
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("%q: %v, want exit status %d", args, cmd.ProcessState, want)
		}
	}
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
		if _, err := f.WriteString("x"); err == nil {
			t.Error("the program can be changed")
		}
		f.Close()
	}
	if path := held(t, []byte("no program")); path != "" {
		t.Errorf("%s is offered", path)
	}
}

func held(t *testing.T, text []byte) string {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	return hold(os.NewFile(uintptr(fd), "test"), text)
}
