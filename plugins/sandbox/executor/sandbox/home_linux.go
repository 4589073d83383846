package sandbox

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
)

// withHome adds HOME from the image's list of users if nothing sets it.
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
