package main

import (
	"fmt"
	"regexp"
	"strings"
)

// described is a version as git describe has it: v1.2.3, v1.2.3-rc.1, and commits
// after a tag, as v1.2.3-4-gabcdef-dirty.
var described = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:-(alpha|beta|rc|dev)\.?(\d*))?(?:-(\d+-g[0-9a-f]+))?(-dirty)?$`)

// versions are the forms that package managers give a version. A pre-release is
// older than its release, commits after a tag are newer than the tag.
type versions struct{ python, debian string }

// versionsOf returns the forms of a version.
func versionsOf(version string) (versions, error) {
	m := described.FindStringSubmatch(version)
	if m == nil {
		return versions{}, fmt.Errorf("version %q has no form for Python and Debian: write v1.2.3, v1.2.3-rc.1 (alpha, beta, dev) or what git describe says after such a tag", version)
	}
	base, stage, number := m[1], m[2], m[3]
	python, debian := base, base
	if stage != "" {
		short := map[string]string{"alpha": "a", "beta": "b", "rc": "rc", "dev": ".dev"}[stage]
		if number == "" {
			number = "0"
		}
		python += short + number
		if stage == "dev" { // older than any other
			debian += "~"
		}
		debian += "~" + stage + number
	}
	if local := strings.Trim(strings.ReplaceAll(m[4]+m[5], "-", "."), "."); local != "" {
		python += "+" + local
		debian += "+" + local
	}
	return versions{python, debian}, nil
}
