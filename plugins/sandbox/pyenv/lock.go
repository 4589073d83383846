package pyenv

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// lockHead begins a lock; what a lock was made of follows in its second line.
const lockHead = "# Written by mleflow. Commit this file: environments are made of exactly these packages.\n"

// Locked is the text of a lock file: what was resolved, and what from.
func Locked(resolved, source string) string {
	return lockHead + "# source: " + source + "\n" + resolved
}

// LockOf returns what a lock file resolves, and false if it was made of another source.
func LockOf(text, source string) (resolved string, ok bool) {
	return strings.CutPrefix(Lines(text), lockHead+"# source: "+source+"\n")
}

// Lines returns a text as it is with Unix line ends, whatever a checkout made of them.
func Lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Source names what a lock is made of: the content of the requirements and the minor
// version of Python.
func Source(requirements, minor string) string {
	return fmt.Sprintf("%s, Python %s", digest.Of([]byte(Lines(requirements))), minor)
}

// pinned is a line of a lock that names a package.
var pinned = regexp.MustCompile(`(?m)^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)`)

// Packages are the versions that a lock names, by package.
func Packages(lock string) map[string]string {
	all := map[string]string{}
	for _, m := range pinned.FindAllStringSubmatch(lock, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// elsewhere finds what a file of requirements takes from other files and folders, whose
// content would not be an input.
var elsewhere = regexp.MustCompile(`(?m)^\s*(-r|--requirement|-c|--constraint|-e|--editable|\.{0,2}/\S|file:)|@ *file:`)

// wheels finds folders and pages of packages.
var wheels = regexp.MustCompile(`(?m)^\s*(-f|--find-links)`)

// Check refuses requirements that would put a password into the cache, and files that
// name others.
func Check(name, text string) error {
	if credentials.MatchString(text) {
		return fmt.Errorf("%s holds an address with a user or password, or of a Git repository. Passwords belong into the variable UV_INDEX or a netrc file, which are not stored; repositories have no wheels", name)
	}
	if found := elsewhere.FindString(text); found != "" {
		return fmt.Errorf("%s refers to another file or folder (%s…): put all requirements into one file, by names of packages", name, strings.TrimSpace(found))
	}
	if found := wheels.FindString(text); found != "" {
		return fmt.Errorf("%s takes packages from a folder or page (%s), which others do not have: name an index, --index-url, or for wheels of this machine only set the variable UV_FIND_LINKS", name, strings.TrimSpace(found))
	}
	return nil
}

// LockName is the name of the lock file of requirements.
func LockName(requirements string) string {
	return strings.TrimSuffix(requirements, filepath.Ext(requirements)) + ".lock"
}

// CheckName refuses a file of requirements by its name.
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

// Requirements are what a program beside a definition needs.
type Requirements struct {
	// Name is the file's, Text what is in it, and Lock its lock file, if there is one.
	Name, Text, Lock string
	// Version is the one of Python; "" is that of the machine.
	Version string
	// LockPath is where a new lock file can be written, if anywhere, and Advice says
	// who does.
	LockPath, Advice string
}

// Locked reports whether the lock file was made of these requirements, for a Python of
// the version asked for.
func (r Requirements) Locked() bool {
	head, _, _ := strings.Cut(strings.TrimPrefix(Lines(r.Lock), lockHead), "\n")
	want := "# source: " + Source(r.Text, r.Version)
	return head == want || r.Version == "" && strings.HasPrefix(head, want)
}

// Unlocked is the error of requirements whose lock file does not do.
func (r Requirements) Unlocked(minor string) error {
	return fmt.Errorf("%s, which says what the metric's packages are, is missing, or was made of another %s, or for another Python than %s: %s", filepath.Base(LockName(r.Name)), filepath.Base(r.Name), minor, r.Advice)
}
