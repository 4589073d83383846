package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// lookPath finds the program as a shell in the command's environment would.
func lookPath(name string, env []string, dir string) (string, error) {
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

// withHome adds HOME from the image's list of users where nothing sets it.
func withHome(env []string, uid int) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }) {
		return env
	}
	return append(env, "HOME="+homeOf("/etc/passwd", uid))
}

func homeOf(passwd string, uid int) string {
	f, err := os.Open(passwd)
	if err != nil {
		return "/"
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if fields := strings.Split(in.Text(), ":"); len(fields) >= 6 && fields[2] == strconv.Itoa(uid) {
			return fields[5]
		}
	}
	return "/"
}
