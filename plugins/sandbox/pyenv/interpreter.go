package pyenv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// Interpreter is a Python of this machine.
type Interpreter struct {
	// Path is the program itself without links, not that of a virtual environment.
	Path string
	// Prefix is the folder of its installation, such as /usr.
	Prefix string
	// Version is the full version, such as 3.11.2, or only 3.11 if no file says more.
	Version string
	// Tag identifies the platform of its compiled packages, such as
	// cpython-311-x86_64-linux-gnu.
	Tag string

	// stdlib is the path of the standard library below Prefix, such as lib/python3.11.
	stdlib string
	// named is Prefix as the environment names it, through a link, or "".
	named string
}

// Minor returns the version for which packages are installed, such as 3.11.
func (i Interpreter) Minor() string {
	parts := strings.SplitN(i.Version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// versionForm matches a version that an environment may ask for.
var versionForm = pattern.New(`^3\.\d{1,2}$`)

// CheckVersion rejects anything but a version such as 3.11, or "" for any version.
func CheckVersion(version string) error {
	if version != "" && !versionForm.Regexp().MatchString(version) {
		return fmt.Errorf("version %q is not a version of Python such as \"3.11\"", version)
	}
	return nil
}

// Find finds the Python with a version such as 3.11. For "", it is the system's or, if
// there is none, the first in PATH. An activated virtual environment makes no
// difference. It passes over Pythons that a repository may have brought along.
func Find(ctx context.Context, version string) (Interpreter, error) {
	name := "python3"
	if version != "" {
		name = "python" + version
	}
	folders := append([]string{"/usr/bin", "/usr/local/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	if home, err := os.UserHomeDir(); err == nil && version != "" {
		for _, pattern := range []string{".local/share/uv/python/cpython-" + version + "*/bin", ".pyenv/versions/" + version + "*/bin"} {
			found, _ := filepath.Glob(filepath.Join(home, pattern))
			slices.Reverse(found) // newest first
			folders = append(folders, found...)
		}
	}
	var last error
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); !filepath.IsAbs(path) || err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		i, err := read(path)
		if err == nil && checkout.Brought(i.Path) {
			err = fmt.Errorf("%s is in the working folder, whose programs are not run", i.Path)
		}
		if err == nil {
			err = i.closed()
		}
		if err == nil && (version == "" || i.Minor() == version) {
			return i, ctx.Err()
		}
		last = err
	}
	return Interpreter{}, errors.Join(fmt.Errorf("there is no %s on this machine: install it, for example by apt-get install python3, or by uv python install VERSION", name), last)
}

// The largest files that are read of a Python, in bytes.
const (
	maxProgram  = 256 << 20
	maxSettings = 4 << 20
)

// programForm matches the name of a program that has its version in it.
var programForm = pattern.New(`(python3\.\d+t?)$`)

// read examines the Python at path by its files. It runs nothing: the Python may be a
// stranger's.
func read(path string) (Interpreter, error) {
	real, err := checkout.Follow(path)
	if err != nil {
		return Interpreter{}, fmt.Errorf("find the program behind %s: %w", path, err)
	}
	i := Interpreter{Path: real, Prefix: filepath.Dir(filepath.Dir(real))}
	if i.stdlib, err = i.library(); err == nil {
		i.Version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(i.stdlib), "python"), "t")
		i.Version = cmp.Or(i.inHeader(), i.inProgram(), i.Version)
		i.Tag, err = i.platform()
	}
	if err != nil {
		return Interpreter{}, fmt.Errorf("%s cannot be used: %w. Use a CPython of the system, pyenv, uv or conda", path, err)
	}
	return i, nil
}

// library returns the path of the standard library below the prefix.
func (i Interpreter) library() (string, error) {
	var found []string
	for _, lib := range []string{"lib", "lib64"} {
		names := programForm.Regexp().FindStringSubmatch(i.Path)
		if names == nil {
			entries, _ := os.ReadDir(filepath.Join(i.Prefix, lib))
			for _, e := range entries {
				if programForm.Regexp().FindString(e.Name()) == e.Name() {
					names = append(names, e.Name())
				}
			}
		}
		for _, name := range slices.Compact(names) {
			at := filepath.Join(lib, name)
			info, err := os.Stat(filepath.Join(i.Prefix, at, "os.py"))
			if err == nil && info.Mode().IsRegular() && !slices.ContainsFunc(found, func(f string) bool { return filepath.Base(f) == name }) {
				found = append(found, at)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no standard library (lib/pythonX.Y/os.py) in %s", i.Prefix)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("its name does not say which of %s is its standard library", strings.Join(found, ", "))
}

// The places of a version: in a header, and as a string of the program.
var (
	headerForm  = pattern.New(`(?m)^#define\s+PY_VERSION\s+"(\d+\.\d+\.\d+)`)
	soabiForm   = pattern.New(`'SOABI': '([^'\s]+)'`)
	dynloadForm = pattern.New(`^[^.]+\.([^.]+)\.so$`)
)

// inHeader returns the version that the installation's header names, or "".
func (i Interpreter) inHeader() string {
	for _, flags := range []string{"", "m"} { // m until 3.7
		text, _ := checkout.ReadFile(filepath.Join(i.Prefix, "include", filepath.Base(i.stdlib)+flags, "patchlevel.h"), maxSettings)
		if m := headerForm.Regexp().FindSubmatch(text); m != nil && bytes.HasPrefix(m[1], []byte(i.Version+".")) {
			return string(m[1])
		}
	}
	return ""
}

// inProgram returns the version that is the only one of its minor version among the
// program's strings, or "". Debian installs no header.
func (i Interpreter) inProgram() string {
	text, _ := checkout.ReadFile(i.Path, maxProgram)
	form := regexp.MustCompile(`\x00(` + regexp.QuoteMeta(i.Version) + `\.\d+)(?:(?:a|b|rc)\d+)?\+?\x00`)
	version := ""
	for _, m := range form.FindAllSubmatch(text, -1) {
		if version != "" && version != string(m[1]) {
			return ""
		}
		version = string(m[1])
	}
	return version
}

// platform returns the tag of compiled packages: from the settings of the build, or from
// the name of a compiled module of the standard library.
func (i Interpreter) platform() (string, error) {
	dir := filepath.Join(i.Prefix, i.stdlib)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries { // sorted: those of a debugging build are later
		if strings.HasPrefix(e.Name(), "_sysconfigdata") && strings.HasSuffix(e.Name(), ".py") {
			text, _ := checkout.ReadFile(filepath.Join(dir, e.Name()), maxSettings)
			if m := soabiForm.Regexp().FindSubmatch(text); m != nil {
				return string(m[1]), nil
			}
		}
	}
	entries, _ = os.ReadDir(filepath.Join(dir, "lib-dynload"))
	for _, e := range entries {
		if m := dynloadForm.Regexp().FindStringSubmatch(e.Name()); m != nil {
			return m[1], nil
		}
	}
	return "", fmt.Errorf("no file in %s says for which platform it is (_sysconfigdata*.py)", dir)
}

// signs are files that only a home folder has.
var signs = []string{".ssh", ".profile", ".bashrc", ".bash_history"}

// closed rejects an installation of which parts are a folder that no agent may see.
func (i Interpreter) closed(private ...string) error {
	if checkout.Below(i.Prefix, "/usr") { // an agent without an image sees it anyway
		return nil
	}
	if err := closed(i.Prefix, private); err != nil {
		return fmt.Errorf("the Python %s is installed with the prefix %w. Use one in a folder of its own, such as that of Debian, pyenv, uv or conda", i.Path, err)
	}
	return nil
}

// closed returns an error if a folder is or contains one that no agent may see: the
// user's or another's home, the working folder, or one of the private folders.
func closed(dir string, private []string) error {
	real, err := checkout.Follow(dir)
	if err != nil {
		return err
	}
	reject := func(inner, what string) error {
		if inner == real {
			return fmt.Errorf("%s, which is %s; an agent must not see that", dir, what)
		}
		return fmt.Errorf("%s, which contains %s, %s; an agent must not see that", dir, inner, what)
	}
	if home := checkout.Home(); home != "" && checkout.Below(home, real) {
		return reject(home, "your home folder")
	}
	if work, err := os.Getwd(); err == nil {
		private = append([]string{work}, private...)
	}
	for _, inner := range private {
		if inner, err := checkout.Follow(inner); err == nil && checkout.Below(inner, real) {
			return reject(inner, "a folder of this pipeline or its cache")
		}
	}
	for _, name := range signs {
		if _, err := os.Lstat(filepath.Join(real, name)); err == nil {
			return reject(real, "a home folder, since it has "+name)
		}
	}
	users, _ := os.ReadFile("/etc/passwd")
	for line := range strings.Lines(string(users)) {
		if fields := strings.Split(line, ":"); len(fields) > 5 && filepath.IsAbs(fields[5]) && fields[5] != "/" {
			if info, err := os.Stat(fields[5]); err == nil && info.IsDir() && checkout.Below(filepath.Clean(fields[5]), real) {
				return reject(filepath.Clean(fields[5]), "the home folder of "+fields[0])
			}
		}
	}
	return nil
}
