package pyenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// About is the file of an environment that says which Python it is for.
const About = "python.json"

// Packed is what is in the file About.
type Packed struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
}

// Packed is what environments for an interpreter say of it.
func (i Interpreter) Packed() Packed { return Packed{i.Minor(), i.Tag} }

// For finds the interpreter that the packages in a folder are for.
func For(ctx context.Context, packages string) (Interpreter, error) {
	text, err := os.ReadFile(filepath.Join(packages, About))
	if err != nil {
		return Interpreter{}, fmt.Errorf("read the environment: %w", err)
	}
	var want Packed
	if err := json.Unmarshal(text, &want); err != nil {
		return Interpreter{}, fmt.Errorf("read the environment: %s: %w", About, err)
	}
	if err := CheckVersion(want.Version); err != nil {
		return Interpreter{}, err
	}
	i, err := Find(ctx, want.Version)
	if err == nil && i.Tag != want.Tag {
		err = fmt.Errorf("the packages are for %s, and %s of this machine is %s", want.Tag, i.Path, i.Tag)
	}
	return i, err
}

// Venv makes a virtual environment in dir: the interpreter, the programs of the
// packages, and an empty folder where the packages themselves are to be seen, whose
// path below dir it returns.
func Venv(dir, packages string, i Interpreter) (string, error) {
	place := filepath.Join("lib", "python"+i.Minor(), "site-packages")
	bin := filepath.Join(dir, "bin")
	err := errors.Join(os.MkdirAll(filepath.Join(dir, place), 0o755), os.MkdirAll(bin, 0o755),
		os.WriteFile(filepath.Join(dir, "pyvenv.cfg"), fmt.Appendf(nil, "home = %s\nversion = %s\ninclude-system-site-packages = false\n", filepath.Dir(i.Path), i.Version), 0o644))
	for _, name := range []string{"python", "python3", "python" + i.Minor()} {
		err = errors.Join(err, os.Symlink(i.Path, filepath.Join(bin, name)))
	}
	if err != nil {
		return "", err
	}
	err = os.CopyFS(bin, os.DirFS(filepath.Join(packages, "bin")))
	if errors.Is(err, fs.ErrNotExist) { // packages without programs
		err = nil
	}
	return place, err
}
