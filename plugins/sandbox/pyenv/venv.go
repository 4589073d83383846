package pyenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// Guest is the path of the virtual environment for isolated agents.
const Guest = "/opt/python"

// About is the file of an environment that identifies its Python.
const About = "python.json"

// Packed is the content of the file About.
type Packed struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
}

// Packed returns the content of About in environments for an interpreter.
func (i Interpreter) Packed() Packed { return Packed{i.Minor(), i.Tag} }

// For finds the interpreter for the packages in a folder.
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

// Host is a virtual environment of this machine.
type Host struct {
	Interpreter
	// Dir is its folder.
	Dir string
	// Packages are the versions of the installed packages, by name.
	Packages map[string]string
}

// Text lists the Python and the packages, one per line, sorted.
func (h Host) Text() string {
	lines := []string{"python==" + h.Version + " " + h.Tag}
	for _, name := range slices.Sorted(maps.Keys(h.Packages)) {
		lines = append(lines, name+"=="+h.Packages[name])
	}
	return strings.Join(lines, "\n") + "\n"
}

// editable matches the mark of a package that is installed as a link to its sources.
var editable = pattern.New(`"editable"\s*:\s*true`)

// Inspect examines a virtual environment of this machine, created by venv, virtualenv,
// uv or conda.
func Inspect(ctx context.Context, dir string) (Host, error) {
	h := Host{Dir: dir, Packages: map[string]string{}}
	python := filepath.Join(dir, "bin", "python3")
	if _, err := os.Stat(python); err != nil {
		return h, fmt.Errorf("%s is no virtual environment, since it has no bin/python3: make one by python3 -m venv %s", dir, dir)
	}
	var err error
	if h.Interpreter, err = probe(ctx, python); err != nil {
		return h, err
	}
	infos, err := filepath.Glob(filepath.Join(dir, "lib", "python"+h.Minor(), "site-packages", "*.dist-info"))
	if err != nil {
		return h, err
	}
	for _, info := range infos {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(info), ".dist-info"), "-")
		h.Packages[strings.ToLower(name)] = version
		from, err := os.ReadFile(filepath.Join(info, "direct_url.json"))
		if err == nil && editable.Regexp().Match(from) {
			return h, fmt.Errorf("%s has %s installed from its sources (pip install -e), which change while its version, by which results are known, stays: install it with pip install, without -e", dir, name)
		}
	}
	return h, nil
}

// Venv creates a virtual environment in dir: the interpreter, the programs of the
// packages, and an empty folder in which the packages are to appear. It returns the
// path of that folder below dir.
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
