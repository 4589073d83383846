package pyenv

import (
	"cmp"
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

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
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
// uv or conda, by its files: it may be a stranger's, so nothing of it is run. It rejects
// one that is or contains a private folder.
func Inspect(dir string, private ...string) (Host, error) {
	h := Host{Dir: dir, Packages: map[string]string{}}
	python := filepath.Join(dir, "bin", "python3")
	if _, err := os.Stat(python); err != nil {
		return h, fmt.Errorf("%s is no virtual environment, since it has no bin/python3: make one by python3 -m venv %s", dir, dir)
	}
	if err := closed(dir, private); err != nil {
		return h, fmt.Errorf("the environment is %w. Make one in a folder of its own, by python3 -m venv .venv", err)
	}
	var err error
	if h.Interpreter, err = interpreterOf(dir, python); err == nil {
		err = h.closed(private...)
	}
	if err != nil {
		return h, err
	}
	return h, h.list(filepath.Join(dir, "lib", filepath.Base(h.stdlib), "site-packages"))
}

// interpreterOf returns the Python of an environment. The settings of the environment
// name its folder, which the environment may have a copy of the program of.
func interpreterOf(dir, python string) (Interpreter, error) {
	set := settings(dir)
	real, err := checkout.Follow(python)
	if err != nil {
		return Interpreter{}, err
	}
	whole, err := checkout.Follow(dir)
	if err != nil {
		return Interpreter{}, err
	}
	version := strings.SplitN(cmp.Or(set["version"], set["version_info"]), ".", 4)
	if set["home"] != "" && checkout.Below(real, whole) {
		real = filepath.Join(set["home"], "python3")
		if len(version) > 1 {
			real = filepath.Join(set["home"], "python"+version[0]+"."+version[1])
		}
	}
	i, err := read(real)
	if err != nil {
		return i, err
	}
	if is := strings.Join(version[:min(3, len(version))], "."); i.Version == i.Minor() && strings.HasPrefix(is, i.Version+".") {
		i.Version = is
	}
	if named := filepath.Dir(set["home"]); filepath.IsAbs(named) && named != i.Prefix {
		if at, err := checkout.Follow(named); err == nil && at == i.Prefix {
			i.named = named
		}
	}
	return i, nil
}

// settings returns those of an environment's pyvenv.cfg. One of conda has none.
func settings(dir string) map[string]string {
	set := map[string]string{}
	text, _ := checkout.ReadFile(filepath.Join(dir, "pyvenv.cfg"), maxText)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, "="); ok {
			set[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return set
}

// list notes the packages in a folder. It rejects those that are links to their sources.
func (h Host) list(site string) error {
	entries, err := os.ReadDir(site)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		at := filepath.Join(site, e.Name())
		linked := false
		name, ending := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
		switch ending {
		case ".dist-info":
			var version string
			name, version, _ = strings.Cut(name, "-")
			h.Packages[strings.ToLower(name)] = version
			from, _ := checkout.ReadFile(filepath.Join(at, "direct_url.json"), maxText)
			linked = editable.Regexp().Match(from)
		case ".egg-link":
			linked = true
		case ".pth":
			linked = h.leavesBy(at)
		}
		if linked {
			return fmt.Errorf("%s has %s installed from its sources (pip install -e), which change while its version, by which results are known, stays: install it with pip install, without -e", h.Dir, name)
		}
	}
	return nil
}

// leavesBy reports whether a file of paths leads to a folder that belongs neither to the
// environment nor to an installation.
func (h Host) leavesBy(file string) bool {
	text, _ := checkout.ReadFile(file, maxText)
	for line := range strings.Lines(string(text)) {
		path := strings.TrimSpace(line)
		if path == "" || strings.HasPrefix(path, "#") || strings.HasPrefix(path, "import ") || strings.HasPrefix(path, "import\t") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		real, err := filepath.EvalSymlinks(path)
		whole, _ := filepath.EvalSymlinks(h.Dir)
		if err == nil && checkout.Holding(real, []string{whole, h.Prefix, "/usr"}) == "" {
			return true
		}
	}
	return false
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

// Place lays out a stored environment below dir, for programs that see the machine's
// files, and returns the virtual environment. If the cache can share, its packages are
// one read-only copy for all programs. Otherwise it has its own copy. release ends its
// use.
func Place(ctx context.Context, store cache.Cache, ref cache.Ref, dir string) (venv string, release func() error, err error) {
	venv, release = filepath.Join(dir, "venv"), func() error { return nil }
	packages := filepath.Join(dir, "packages")
	shared, err := store.Share(ctx, ref, nil)
	switch {
	case err == nil:
		packages, release = shared.Dir(), shared.Close
	case errors.Is(err, errors.ErrUnsupported):
		_, err = tree.Materialise(ctx, store, ref, packages, tree.Options{Mode: tree.Copy})
	}
	if err == nil {
		err = link(ctx, venv, packages)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("place the Python environment: %w", err), release())
	}
	return venv, release, nil
}

// link creates a virtual environment for packages that are elsewhere.
func link(ctx context.Context, venv, packages string) error {
	i, err := For(ctx, packages)
	if err != nil {
		return err
	}
	place, err := Venv(venv, packages, i)
	if err != nil {
		return err
	}
	at := filepath.Join(venv, place)
	return errors.Join(os.Remove(at), os.Symlink(filepath.Join(packages, "site-packages"), at))
}

// Mounts are the files outside of a placed environment that it needs, at their paths on
// this machine.
func Mounts(venv string) []executor.Mount {
	var list []executor.Mount
	found, _ := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	for _, at := range found {
		if packages, err := filepath.EvalSymlinks(at); err == nil {
			list = append(list, executor.Mount{Host: packages, Guest: packages, ReadOnly: true})
		}
	}
	if i, err := read(filepath.Join(venv, "bin", "python3")); err == nil {
		list = append(list, i.Needs()...)
	}
	return list
}

// Activate returns the variables of a program for which a virtual environment is
// activated.
func Activate(vars map[string]string, venv string) map[string]string {
	vars = maps.Clone(vars)
	vars["VIRTUAL_ENV"] = venv
	vars["PATH"] = strings.TrimSuffix(filepath.Join(venv, "bin")+":"+vars["PATH"], ":")
	return vars
}
