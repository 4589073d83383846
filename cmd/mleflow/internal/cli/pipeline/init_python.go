package pipeline

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
)

// maxSource bounds how much of an agent is read for its imports.
const maxSource = 4 << 20

// imported finds the modules that a line of Python imports.
var imported = pattern.New(`(?m)^[ \t]*(?:import[ \t]+([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)|from[ \t]+([\w.]+)[ \t]+import\b)`)

// pythonModules are the modules of Python itself, 3.9 to 3.14, and mlebench.
//
//go:embed python_modules.txt
var pythonModules string

// packagesOf returns the packages that a program in Python imports, sorted: neither
// modules of Python itself nor files beside it.
func packagesOf(agent string) ([]string, error) {
	f, err := os.Open(agent)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, maxSource)
	n, err := f.Read(text)
	if err != nil && n == 0 {
		return nil, nil //nolint:nilerr // an empty file imports nothing
	}
	var names []string
	standard := strings.Fields(pythonModules)
	for _, m := range imported.Regexp().FindAllStringSubmatch(string(text[:n]), -1) {
		for module := range strings.SplitSeq(m[1]+m[2], ",") {
			module, _, _ = strings.Cut(strings.TrimSpace(module), " ")
			top, _, _ := strings.Cut(module, ".")
			if top == "" || slices.Contains(standard, top) || isLocal(filepath.Dir(agent), top) {
				continue
			}
			names = append(names, rehearse.Distribution(top))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func isLocal(dir, module string) bool {
	for _, name := range []string{module, module + ".py"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// pythonBlock returns the line of an agent block for the packages that a program
// imports, "" if it imports none, and writes a requirements.txt beside the pipeline
// unless there is one.
func pythonBlock(a *app.App, file, agent string) (string, error) {
	packages, err := packagesOf(agent)
	if err != nil || len(packages) == 0 {
		return "", err
	}
	const requirements = "requirements.txt"
	path := filepath.Join(filepath.Dir(file), requirements)
	err = wholefile.Create(path, 0o644, wholefile.Bytes([]byte(strings.Join(packages, "\n")+"\n")))
	switch {
	case errors.Is(err, fs.ErrExist):
		fmt.Fprintf(a.Stderr, "%s imports %s: the pipeline installs what %s names.\n", agent, strings.Join(packages, ", "), path)
	case err != nil:
		return "", fmt.Errorf("write %s: %w", path, err)
	default:
		fmt.Fprintf(a.Stderr, "Wrote %s with the packages that %s imports: %s.\n", path, agent, strings.Join(packages, ", "))
	}
	return "  python { requirements = \"" + requirements + "\" } # installed once, then locked in requirements.lock\n", nil
}
