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

// pinned matches a line of a lock that names a package.
var pinned = pattern.New(`(?m)^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)`)

// Packages returns the versions in a lock, by package.
func Packages(lock string) map[string]string {
	all := map[string]string{}
	for _, m := range pinned.Regexp().FindAllStringSubmatch(lock, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// elsewhere matches the lines of a file of requirements that refer to other files and
// folders, whose content would not be an input.
var elsewhere = pattern.New(`(?m)^\s*(-r|--requirement|-c|--constraint|-e|--editable|\.{0,2}/\S|file:)|@ *file:`)

// wheels matches options that name folders and pages of packages.
var wheels = pattern.New(`(?m)^\s*(-f|--find-links)`)

// Check rejects requirements that would put a password into the cache, and those that
// refer to other files.
func Check(name, text string) error {
	if credentials.Regexp().MatchString(text) {
		return fmt.Errorf("%s holds an address with a user or password, or of a Git repository. Passwords belong into the variable UV_INDEX or a netrc file, which are not stored; repositories have no wheels", name)
	}
	if found := elsewhere.Regexp().FindString(text); found != "" {
		return fmt.Errorf("%s refers to another file or folder (%s…): put all requirements into one file, by names of packages", name, strings.TrimSpace(found))
	}
	if found := wheels.Regexp().FindString(text); found != "" {
		return fmt.Errorf("%s takes packages from a folder or page (%s), which others do not have: name an index, --index-url, or for wheels of this machine only set the variable UV_FIND_LINKS", name, strings.TrimSpace(found))
	}
	return nil
}

// LockName returns the name of the lock file for requirements.
func LockName(requirements string) string {
	return strings.TrimSuffix(requirements, filepath.Ext(requirements)) + ".lock"
}

// CheckName rejects a file of requirements with an unsuitable name.
func CheckName(name string) error {
	switch base := filepath.Base(name); {
	case base == "uv.lock":
		return errors.New("uv.lock needs its project: write uv export --format requirements-txt -o requirements.txt, and name that file")
	case strings.HasSuffix(base, ".yml"), strings.HasSuffix(base, ".yaml"):
		return fmt.Errorf("%s is a file of conda, which installs from elsewhere: list the packages in a requirements.txt", base)
	case !strings.HasSuffix(base, ".txt") && !strings.HasSuffix(base, ".in") && base != "pyproject.toml":
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
