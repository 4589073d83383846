package pyenv

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

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
