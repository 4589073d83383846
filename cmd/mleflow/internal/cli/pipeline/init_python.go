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
	return slices.ContainsFunc([]string{module, module + ".py"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// systemPythons are the Pythons that an agent without packages starts with: those that a
// sandbox without an image shows, in the order in which pyenv.Find looks for them.
var systemPythons = []string{"/usr/bin/python3", "/usr/local/bin/python3"}

// startPython returns the program that starts an agent in Python, a comment beside it, and
// the line of its block for the packages that it imports. Without packages the program
// is the system's Python, so that the attempts run isolated and are compared with those
// of the other agents. It looks at files and runs nothing.
func startPython(a *app.App, file, agent, program string) (start, comment, block string, err error) {
	packages, err := packagesOf(agent)
	if err != nil {
		return "", "", "", err
	}
	if len(packages) > 0 {
		if filepath.IsAbs(program) {
			program = "python3" // that of the block, which is first in PATH
		}
		block, err = pythonBlock(a, file, agent, packages)
		return program, "", block, err
	}
	if program != "python" && program != "python3" {
		return program, "", "", nil
	}
	for _, python := range systemPythons {
		real, err := filepath.EvalSymlinks(python)
		if err == nil && strings.HasPrefix(real, "/usr/") {
			fmt.Fprintf(a.Stderr, "%s imports only modules of Python itself: it starts with %s, the Python that a sandbox shows, whatever python3 is in your PATH.\n", agent, python)
			return python, " # a sandbox without an image shows this Python", "", nil
		}
	}
	return program, "", "", nil
}

// pythonBlock returns the line of an agent block for the packages that a program imports,
// and writes a requirements.txt beside the pipeline unless there is one.
func pythonBlock(a *app.App, file, agent string, packages []string) (string, error) {
	const requirements = "requirements.txt"
	path := filepath.Join(filepath.Dir(file), requirements)
	text := "# Pin the versions, as in numpy==2.3.1, or keep requirements.lock, which the first apply writes.\n" + strings.Join(packages, "\n") + "\n"
	err := wholefile.Create(path, 0o644, wholefile.Bytes([]byte(text)))
	switch {
	case errors.Is(err, fs.ErrExist):
		fmt.Fprintf(a.Stderr, "%s imports %s: the pipeline installs what %s names.\n", agent, strings.Join(packages, ", "), path)
	case err != nil:
		return "", fmt.Errorf("write %s: %w", path, err)
	default:
		fmt.Fprintf(a.Stderr, "Wrote %s with the packages that %s imports: %s. They are installed for its attempts alone, with the system's Python; pin their versions.\n", path, agent, strings.Join(packages, ", "))
	}
	return "  python { requirements = \"" + requirements + "\" } # installed once, then locked in requirements.lock\n", nil
}
