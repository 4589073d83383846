package pyenv

import (
	"fmt"
	"regexp"
	"strings"
)

// lockHead begins a lock; what a lock was made of follows in its second line.
const lockHead = "# Written by mleflow. Commit this file: environments are made of exactly these packages.\n"

// Locked is the text of a lock file: what was resolved, and what from.
func Locked(resolved, source string) string {
	return lockHead + "# source: " + source + "\n" + resolved
}

// LockOf returns what a lock file resolves, and false if it was made of another source.
func LockOf(text, source string) (resolved string, ok bool) {
	return strings.CutPrefix(text, lockHead+"# source: "+source+"\n")
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
