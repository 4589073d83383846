package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// Interpreter is a Python of this machine.
type Interpreter struct {
	// Path is the program itself, not that of a virtual environment.
	Path string
	// Prefix is the folder of its installation, such as /usr.
	Prefix string
	// Version is the full version, such as 3.11.2.
	Version string
	// Tag identifies the platform of its compiled packages, such as
	// cpython-311-x86_64-linux-gnu.
	Tag string
}

// Minor returns the version for which packages are installed, such as 3.11.
func (i Interpreter) Minor() string {
	parts := strings.SplitN(i.Version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// versionForm matches a version that an environment may ask for.
var versionForm = pattern.New(`^3\.\d{1,2}$`)

// CheckVersion rejects anything but a version such as 3.11, or "" for any version.
func CheckVersion(version string) error {
	if version != "" && !versionForm.Regexp().MatchString(version) {
		return fmt.Errorf("version %q is not a version of Python such as \"3.11\"", version)
	}
	return nil
}

// Find finds the Python with a version such as 3.11. For "", it is the system's or, if
// there is none, the first in PATH. An activated virtual environment makes no
// difference.
func Find(ctx context.Context, version string) (Interpreter, error) {
	name := "python3"
	if version != "" {
		name = "python" + version
	}
	folders := append([]string{"/usr/bin", "/usr/local/bin"}, filepath.SplitList(os.Getenv("PATH"))...)
	if home, err := os.UserHomeDir(); err == nil && version != "" {
		for _, pattern := range []string{".local/share/uv/python/cpython-" + version + "*/bin", ".pyenv/versions/" + version + "*/bin"} {
			found, _ := filepath.Glob(filepath.Join(home, pattern))
			slices.Reverse(found) // newest first
			folders = append(folders, found...)
		}
	}
	var last error
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); !filepath.IsAbs(path) || err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		i, err := probe(ctx, path)
		if err == nil && (version == "" || i.Minor() == version) {
			return i, nil
		}
		last = err
	}
	return Interpreter{}, errors.Join(fmt.Errorf("there is no %s on this machine: install it, for example by apt-get install python3, or by uv python install VERSION", name), last)
}

// probeScript prints the fields of an Interpreter, one per line.
const probeScript = `import sys, sysconfig
print(getattr(sys, "_base_executable", "") or sys.executable)
print(sys.base_prefix)
print(".".join(map(str, sys.version_info[:3])))
print(sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag)`

func probe(ctx context.Context, path string) (Interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-S", "-c", probeScript)
	out, err := cmd.Output()
	if err != nil {
		return Interpreter{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 {
		return Interpreter{}, fmt.Errorf("ask %s for its version: it printed %q", path, out)
	}
	real, err := filepath.EvalSymlinks(lines[0])
	if err != nil {
		return Interpreter{}, fmt.Errorf("find the program behind %s: %w", path, err)
	}
	return Interpreter{Path: real, Prefix: lines[1], Version: lines[2], Tag: lines[3]}, nil
}
