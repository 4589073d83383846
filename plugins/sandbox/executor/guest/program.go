package guest

import (
	"bytes"
	"fmt"
	"os"
	"path"
)

// LookPath finds the program as a shell with the command's environment would.
func LookPath(name string, env []string, dir string) (string, error) {
	if bytes.ContainsRune([]byte(name), '/') {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, v := range env {
		list, ok := bytes.CutPrefix([]byte(v), []byte("PATH="))
		if !ok {
			continue
		}
		for d := range bytes.SplitSeq(list, []byte(":")) {
			if file := path.Join(string(d), name); path.IsAbs(string(d)) && executable(file) == nil {
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
