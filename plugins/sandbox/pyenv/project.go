package pyenv

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// projectFile is the name of a project's description, and projectLock that of uv's lock
// of it.
const (
	projectFile = "pyproject.toml"
	projectLock = "uv.lock"
)

// maxDepth limits nested values and dotted keys. The decoder takes the cube of it.
const maxDepth = 64

// quoted matches strings and comments of TOML, roughly.
var quoted = pattern.New(`"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#.*`)

// decodeTOML decodes a file that may be hostile.
func decodeTOML(name, text string, into any) error {
	depth, dots := 0, 0
	for _, c := range quoted.Regexp().ReplaceAllString(text, "") {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '.':
			dots++
		case '\n':
			dots = 0
		}
		if depth > maxDepth || dots > maxDepth {
			return fmt.Errorf("%s: it is nested deeper than %d levels", name, maxDepth)
		}
	}
	if _, err := toml.Decode(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// isProject matches the table that identifies a text as a pyproject.toml.
var isProject = pattern.New(`(?m)^\[project\]`)

// export is the advice for what only uv can do with a project.
const export = "write uv export --frozen --no-dev --no-emit-project --format requirements-txt -o requirements.txt where you trust the project, and name requirements.txt"

// parseProject returns the dependencies of a pyproject.toml. Neither its build system
// nor anything else in it is used, so whatever changes its dependencies is refused.
func parseProject(name, text string) (List, error) {
	var file struct {
		Project *struct{ Dependencies, Dynamic []string }
		Tool    struct{ UV map[string]any }
	}
	if err := decodeTOML(name, text, &file); err != nil {
		return List{}, err
	}
	switch {
	case file.Project == nil:
		return List{}, fmt.Errorf("%s has no table [project] with dependencies: write them there, or into a requirements.txt", name)
	case slices.Contains(file.Project.Dynamic, "dependencies"):
		return List{}, fmt.Errorf("%s: the dependencies are dynamic, and its build, which would run code here, would have to be asked: write them out as dependencies = [\"…\"]", name)
	}
	var list List
	var all []error
	for _, key := range slices.Sorted(maps.Keys(file.Tool.UV)) {
		switch key {
		case "sources", "index", "index-url", "extra-index-url", "find-links", "no-index", "override-dependencies", "constraint-dependencies", "exclude-dependencies", "dependency-metadata":
			all = append(all, fmt.Errorf("%s: tool.uv.%s changes what is installed, and is not used: remove it; or %s", name, key, export))
		}
	}
	for _, line := range file.Project.Dependencies {
		p, err := parsePackage(strings.TrimSpace(line))
		if err == nil && len(p.Hashes) > 0 {
			err = errors.New("a dependency has no options")
		}
		if err != nil {
			all = append(all, fmt.Errorf("%s: project.dependencies: %w", name, err))
		}
		list.Packages = append(list.Packages, p)
	}
	return list, errors.Join(all...)
}

// uvLocked is an element of a uv.lock.
type uvLocked struct {
	Name, Version string
	Source        struct{ Registry, Virtual, Editable string }
	Wheels        []struct{ Hash string }
}

// parseUVLock returns the packages of a uv.lock, each pinned to its version and hashes.
func parseUVLock(text string) (List, error) {
	var file struct{ Package []uvLocked }
	if err := decodeTOML(projectLock, text, &file); err != nil {
		return List{}, err
	}
	var list List
	seen := map[string]bool{}
	for _, p := range file.Package {
		if p.Source.Virtual == "." || p.Source.Editable == "." {
			continue // the project itself
		}
		line := p.Name + "==" + p.Version
		for _, w := range p.Wheels {
			line += " --hash=" + w.Hash
		}
		pinned, err := parsePackage(line)
		switch key := pinned.Key(); {
		case err != nil || pinned.Version() == "" || p.Source.Registry == "":
			return List{}, fmt.Errorf("%s has %q, which is not a version of an index: %s", projectLock, p.Name, export)
		case seen[key]:
			return List{}, fmt.Errorf("%s has several versions of %s, for different machines: %s", projectLock, p.Name, export)
		default:
			seen[key] = true
		}
		list.Packages = append(list.Packages, pinned)
	}
	return list, nil
}

// lockHead is the first line of a lock. The second line identifies the source of the
// lock.
const lockHead = "# Written by mleflow. Commit this file: environments are made of exactly these packages.\n"

// Locked returns the content of a lock file for resolved requirements and their source.
func Locked(resolved, source string) string {
	return lockHead + "# source: " + source + "\n" + resolved
}

// LockOf returns the resolved requirements of a lock file, and false if it was made
// from another source.
func LockOf(text, source string) (resolved string, ok bool) {
	return strings.CutPrefix(Lines(text), lockHead+"# source: "+source+"\n")
}

// Lines returns a text with Unix line endings, regardless of how it was checked out.
func Lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Source identifies the source of a lock: the content of the requirements and the minor
// version of Python.
func Source(requirements, minor string) string {
	return fmt.Sprintf("%s, Python %s", digest.Of([]byte(Lines(requirements))), minor)
}

// Pins parses a lock file: mleflow's own, or a uv.lock. Each package has a version and
// hashes.
func Pins(name, text string) (list List, err error) {
	name = filepath.Base(name)
	if IsUVLock(text) {
		return parseUVLock(text)
	}
	if list, err = Parse(name, text); err == nil {
		for _, p := range list.Packages {
			if p.Version() == "" || len(p.Hashes) == 0 {
				err = errors.Join(err, fmt.Errorf("%s: %s has no version ==… with --hash", name, p.Name))
			}
		}
	}
	if err != nil {
		return List{}, fmt.Errorf("%w. Only mleflow writes this file: delete it, and it is written again", err)
	}
	return list, nil
}

// IsUVLock reports whether a lock is a uv.lock.
func IsUVLock(text string) bool { return uvLockForm.Regexp().MatchString(Lines(text)) }

// uvLockForm matches the beginning of an element of a uv.lock.
var uvLockForm = pattern.New(`(?m)^\[\[package\]\]$`)

// Versions returns the versions of the packages of a lock, by name.
func (l List) Versions() map[string]string {
	all := map[string]string{}
	for _, p := range l.Packages {
		all[p.Name] = p.Version()
	}
	return all
}

// LockNames returns the names of the lock files for requirements; the first that exists
// counts. A uv.lock says which versions its owner has tried, so it is never ignored.
func LockNames(requirements string) []string {
	return []string{filepath.Join(filepath.Dir(requirements), projectLock), LockName(requirements)}
}

// LeaveUVLock is the advice for requirements that a uv.lock does not fit.
const LeaveUVLock = "run uv lock, or move the requirements to a folder without uv.lock"

// LockName returns the name of the lock file for requirements.
func LockName(requirements string) string {
	return strings.TrimSuffix(requirements, filepath.Ext(requirements)) + ".lock"
}

// CheckName rejects a file of requirements with an unsuitable name.
func CheckName(name string) error {
	switch base := filepath.Base(name); {
	case base == projectLock:
		return errors.New("uv.lock is the lock of a pyproject.toml next to it: name that file")
	case strings.HasSuffix(base, ".yml"), strings.HasSuffix(base, ".yaml"):
		return fmt.Errorf("%s is a file of conda, which installs from elsewhere: list the packages in a requirements.txt", base)
	case !strings.HasSuffix(base, ".txt") && !strings.HasSuffix(base, ".in") && base != projectFile:
		return fmt.Errorf("%s is neither a requirements.txt nor a pyproject.toml", base)
	}
	return nil
}

// Requirements are the packages that a program next to a definition needs.
type Requirements struct {
	// Name is the name of the file, Text its content, and Lock the content of its lock
	// file, or "".
	Name, Text, Lock string
	// Version is the version of Python; "" is the machine's.
	Version string
	// LockPath is the path at which a new lock file can be written, or "". Advice says
	// who writes it.
	LockPath, Advice string
}

// Locked reports whether the lock file was made from these requirements, for the
// requested version of Python.
func (r Requirements) Locked() bool {
	head, _, _ := strings.Cut(strings.TrimPrefix(Lines(r.Lock), lockHead), "\n")
	want := "# source: " + Source(r.Text, r.Version)
	return head == want || r.Version == "" && strings.HasPrefix(head, want)
}

// Unlocked is the error for requirements without a suitable lock file.
func (r Requirements) Unlocked(minor string) error {
	return fmt.Errorf("%s, which says what the metric's packages are, is missing, or was made of another %s, or for another Python than %s: %s", filepath.Base(LockName(r.Name)), filepath.Base(r.Name), minor, r.Advice)
}
