package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// project is a Python distribution: a folder with a pyproject.toml, whose facts are
// the metadata of its wheels and its source distribution.
type project struct {
	folder string
	// text is the pyproject.toml with the version of the release.
	text []byte
	pyproject
}

// pyproject is what may be in a pyproject.toml. Another key of project or tool.hatch
// is refused, so that no fact is lost.
type pyproject struct {
	Project struct {
		Name           string
		Version        string
		Description    string
		Readme         string
		RequiresPython string `toml:"requires-python"`
		License        any
		Keywords       []string
		Classifiers    []string
		URLs           map[string]string
		Dependencies   []string
		Optional       map[string][]string          `toml:"optional-dependencies"`
		EntryPoints    map[string]map[string]string `toml:"entry-points"`
		Scripts        map[string]string
	}
	Tool struct {
		Hatch struct {
			Build struct {
				Targets struct{ Wheel struct{ Packages []string } }
			}
		}
	}
}

// projects reads the Python distributions below a folder, in a release's version.
func projects(folder, version string) ([]project, error) {
	found, err := filepath.Glob(filepath.Join(folder, "*", "pyproject.toml"))
	if err != nil {
		return nil, err
	}
	var all []project
	for _, path := range found {
		p, err := readProject(path, version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		if err := p.checkPins(all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var (
	versionLine = regexp.MustCompile(`(?m)^version *= *"[^"]*"`)
	// ownPin is a dependency on another distribution of the release.
	ownPin = regexp.MustCompile(`"(mleflow(?:-[a-z]+)?(?:\[[^]"]*\])?) *== *[^"]*"`)
)

func readProject(path, version string) (project, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return project{}, err
	}
	if n := len(versionLine.FindAllIndex(text, -1)); n != 1 {
		return project{}, fmt.Errorf("%d lines begin with version = \"…\", want one", n)
	}
	text = versionLine.ReplaceAllLiteral(text, []byte(`version = "`+version+`"`))
	text = ownPin.ReplaceAll(text, []byte(`"${1}==`+version+`"`))
	p := project{folder: filepath.Dir(path), text: text}
	read, err := toml.Decode(string(text), &p.pyproject)
	if err != nil {
		return project{}, err
	}
	if licence, ok := p.Project.License.(string); !ok || licence == "" {
		return project{}, errors.New(`project.license is no SPDX expression: write license = "Apache-2.0"`)
	}
	for _, key := range read.Undecoded() {
		if key[0] == "project" || len(key) > 1 && key[0] == "tool" && key[1] == "hatch" {
			return project{}, fmt.Errorf("the release does not know the key %s: add it to pyproject in cmd/mleflow/internal/dev/release/python.go", key)
		}
	}
	if p.Project.Name == "" || p.Project.Readme == "" || len(p.packages()) == 0 {
		return project{}, errors.New("it needs project.name, project.readme and tool.hatch.build.targets.wheel.packages")
	}
	return p, nil
}

func (p project) packages() []string { return p.Tool.Hatch.Build.Targets.Wheel.Packages }

// checkPins refuses a dependency on another version of a distribution of the release.
func (p project) checkPins(all []project) error {
	for _, d := range slices.Concat(append(slices.Collect(maps.Values(p.Project.Optional)), p.Project.Dependencies)...) {
		name := strings.ToLower(regexp.MustCompile(`^[\w.-]+`).FindString(d))
		if slices.ContainsFunc(all, func(o project) bool { return o.Project.Name == name }) && !strings.HasSuffix(d, "=="+p.Project.Version) {
			return fmt.Errorf("%s depends on %q: pin the version, as in %q; the release writes its own there", p.folder, d, name+" == 0.1.0.dev0")
		}
	}
	return nil
}

var separators = regexp.MustCompile(`[-_.]+`)

// stem is what the names of files begin with.
func (p project) stem() string {
	return strings.ToLower(separators.ReplaceAllString(p.Project.Name, "_")) + "-" + p.Project.Version
}

// metadata returns the core metadata, version 2.4: METADATA of a wheel, PKG-INFO of a
// source distribution.
func (p project) metadata() ([]byte, error) {
	readme, err := os.ReadFile(filepath.Join(p.folder, p.Project.Readme))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, value)
		}
	}
	line("Metadata-Version", "2.4")
	line("Name", p.Project.Name)
	line("Version", p.Project.Version)
	line("Summary", p.Project.Description)
	for _, label := range slices.Sorted(maps.Keys(p.Project.URLs)) {
		line("Project-URL", label+", "+p.Project.URLs[label])
	}
	line("License-Expression", p.Project.License.(string))
	line("License-File", "LICENSE")
	line("Keywords", strings.Join(p.Project.Keywords, ","))
	for _, c := range p.Project.Classifiers {
		line("Classifier", c)
	}
	line("Requires-Python", p.Project.RequiresPython)
	for _, d := range p.Project.Dependencies {
		line("Requires-Dist", d)
	}
	for _, extra := range slices.Sorted(maps.Keys(p.Project.Optional)) {
		name := strings.ToLower(separators.ReplaceAllString(extra, "-"))
		line("Provides-Extra", name)
		for _, d := range p.Project.Optional[extra] {
			line("Requires-Dist", ofExtra(d, name))
		}
	}
	line("Description-Content-Type", "text/markdown")
	b.WriteString("\n")
	b.Write(readme)
	return []byte(b.String()), nil
}

// ofExtra adds to a dependency that an extra brings it.
func ofExtra(dependency, extra string) string {
	what, marker, found := strings.Cut(dependency, ";")
	if found {
		return fmt.Sprintf("%s; (%s) and extra == '%s'", strings.TrimSpace(what), strings.TrimSpace(marker), extra)
	}
	return fmt.Sprintf("%s; extra == '%s'", what, extra)
}

// entryPoints returns entry_points.txt, which is empty without any.
func (p project) entryPoints() []byte {
	groups := map[string]map[string]string{"console_scripts": p.Project.Scripts}
	maps.Copy(groups, p.Project.EntryPoints)
	var b strings.Builder
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if len(groups[group]) == 0 {
			continue
		}
		fmt.Fprintf(&b, "[%s]\n", group)
		for _, name := range slices.Sorted(maps.Keys(groups[group])) {
			fmt.Fprintf(&b, "%s = %s\n", name, groups[group][name])
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// files returns the files of a package, with names below the distribution's folder.
// What Python and tools leave there is none of them.
func (p project) files(pkg string) ([]file, error) {
	var all []file
	err := filepath.WalkDir(filepath.Join(p.folder, pkg), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "__pycache__" || strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() || filepath.Ext(path) == ".pyc" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(p.folder, path)
		all = append(all, file{filepath.ToSlash(name), 0o644, data})
		return err
	})
	return all, err
}
