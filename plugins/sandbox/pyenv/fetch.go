package pyenv

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// uvVersion is the version of uv that is fetched if there is none. uvHashes are the
// SHA-256 digests of its wheels: Linux on amd64 and arm64 (with musl too), macOS on
// arm64 and amd64, Linux with musl on amd64.
const uvVersion = "0.13.9"

var uvHashes = []string{
	"d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19", "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
	"66c512266d633bef48384a1f53003f41f2a8e7b36fe6e7fbfd3e0fd52d96fa63", "c16ed11e013557536b3e60065f1b912f6407bd6518e041b961e23ef9e6b4fbf5",
	"2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
}

// maxUV limits the size of the program in a wheel.
const maxUV = 256 << 20

// leastUV is the first version of uv that supports all the options used here.
var leastUV = [3]int{0, 4, 23}

// checkUV rejects a program that is not uv or is too old. found describes how it was
// found.
func (t *Tool) checkUV(ctx context.Context, found string) error {
	advice := fmt.Sprintf("install uv %d.%d.%d or later, or take it away and mleflow fetches %s", leastUV[0], leastUV[1], leastUV[2], uvVersion)
	var out bytes.Buffer
	uv := t.path
	if t.isolated() {
		uv = guestUV
	}
	code, err := t.start(ctx, &out, process{argv: []string{uv, "--version"}, env: map[string]string{"PATH": executor.DefaultPath}})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d", code)
	}
	if err != nil {
		return fmt.Errorf("%s %s, which is no uv: %s --version: %w; %s", found, t.path, t.path, failure(ctx, err, out.String()), advice)
	}
	var is [3]int
	if n, _ := fmt.Sscanf(out.String(), "uv %d.%d.%d", &is[0], &is[1], &is[2]); n != 3 {
		return fmt.Errorf("%s %s, which is no uv: %s --version printed %.80q; %s", found, t.path, t.path, &out, advice)
	}
	if slices.Compare(is[:], leastUV[:]) < 0 {
		return fmt.Errorf("%s %s, a uv %d.%d.%d, which is too old; %s", found, t.path, is[0], is[1], is[2], advice)
	}
	return nil
}

// fetchUV has pip fetch the wheel, because pip knows the package index and how to reach
// it.
func fetchUV(ctx context.Context, dir, to string, python Interpreter) error {
	tmp, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	wanted := "uv==" + uvVersion
	for _, sum := range uvHashes {
		wanted += " --hash=sha256:" + sum
	}
	list := filepath.Join(tmp, "uv.txt")
	if err := os.WriteFile(list, []byte(wanted+"\n"), 0o600); err != nil {
		return err
	}
	// -I keeps a pip out that is in the folder in which mleflow was started.
	cmd := exec.CommandContext(ctx, python.Path, "-I", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
		"--only-binary", ":all:", "--require-hashes", "--dest", tmp, "--requirement", list)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s -m pip download: %w", filepath.Base(python.Path), failure(ctx, err, string(out)))
	}
	wheels, err := filepath.Glob(filepath.Join(tmp, "uv-*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("pip fetched %d wheels", len(wheels))
	}
	program, err := programIn(wheels[0])
	if err != nil {
		return fmt.Errorf("unpack uv: %w", err)
	}
	fresh := filepath.Join(tmp, "uv")
	if err := os.WriteFile(fresh, program, 0o755); err != nil {
		return err
	}
	return os.Rename(fresh, to)
}

func programIn(wheel string) ([]byte, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".data/scripts/uv") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, maxUV))
	}
	return nil, errors.New("the wheel has no program")
}
