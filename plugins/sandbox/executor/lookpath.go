package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LookPath finds the program as a shell with the command's environment would.
func LookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, v := range env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, d := range filepath.SplitList(path) {
			if file := filepath.Join(d, name); filepath.IsAbs(d) && executable(file) == nil {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s: no such program in PATH", name)
}

func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s: not an executable file", file)
	}
	return nil
}
