package pyenv

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

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
