package machine

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// tryTimeout bounds a trial, of which the most is waiting for a busy machine.
const tryTimeout = 20 * time.Second

// TrySandbox runs a program that does nothing in the runtime sandbox, in a folder
// below dir, which is where images are unpacked, since its file system matters, too.
// self is this program. The folder is removed.
func TrySandbox(self, dir string) executor.Availability {
	started := time.Now()
	if err := trySandbox(self, dir); err != nil {
		return executor.Availability{Because: err.Error()}
	}
	return executor.Availability{OK: true, Because: fmt.Sprintf("a program was run in it (%v with an image made for it)", time.Since(started).Round(time.Millisecond))}
}

func trySandbox(self, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	work, err := tryFolder(dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "true")
	text, err := trueProgram(runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		return err
	}
	made, err := (&image.Builder{Dir: filepath.Join(work, "image")}).Build(ctx, image.Static(program, "true"), io.Discard)
	if err != nil {
		return err
	}
	e := sandbox.New(sandbox.Options{Self: self, Dir: filepath.Join(work, "sandbox")})
	var printed bytes.Buffer
	exit, err := e.Run(ctx, executor.Spec{ID: "try", Image: made.Path, Command: []string{"/usr/bin/true"}, Dir: "/"}, &printed)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("true ended with status %d: %s", exit.Code, bytes.TrimSpace(printed.Bytes()))
	}
	return err
}

// tryFolder makes a folder below dir, or below the nearest folder above it that there
// is; if that cannot be written to, where temporary files are.
func tryFolder(dir string) (string, error) {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if work, err := os.MkdirTemp(dir, ".mleflow-try-"); err == nil {
			return work, nil
		}
		break
	}
	return os.MkdirTemp("", "mleflow-try-")
}

// trueProgram is /bin/true as a static executable file: the machine may have
// none, and an image for one that is linked needs its libraries.
func trueProgram(arch string) ([]byte, error) {
	code := map[string]struct {
		machine elf.Machine
		text    []byte
	}{
		"amd64": {elf.EM_X86_64, []byte{0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05}},                // exit(0)
		"arm64": {elf.EM_AARCH64, []byte{0xa8, 0x0b, 0x80, 0xd2, 0, 0, 0x80, 0xd2, 1, 0, 0, 0xd4}}, // exit(0)
	}[arch]
	if code.text == nil {
		return nil, fmt.Errorf("there is no trial for %s", arch)
	}
	return image.Program(code.machine, code.text)
}
