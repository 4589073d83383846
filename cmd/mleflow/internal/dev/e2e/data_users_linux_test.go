package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// dataUser runs the program as a user with a group and an umask, in a folder of their own
// below a folder of all.
type dataUser struct {
	t        *testing.T
	at       string
	uid, gid uint32
	umask    int
}

func (m dataUser) run(args ...string) (out string, code int) {
	m.t.Helper()
	home := filepath.Join(m.at, fmt.Sprint("home-", m.uid))
	if err := os.MkdirAll(home, 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Chown(home, int(m.uid), int(m.gid)); err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", fmt.Sprintf(`umask %03o; exec "$0" "$@"`, m.umask), binary}, args...)...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "TMPDIR=/tmp", "TERM=dumb"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: m.uid, Gid: m.gid}}
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// TestDataFolderOfAGroup prepares data in a folder of a group, with any umask: each member
// can grade with them and replace them, nobody else can read the answers, and a failure
// replaces nothing. Data that their owner closed are not replaced, and the error says who
// that is.
func TestDataFolderOfAGroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	if err := os.Chmod(filepath.Dir(binary), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, umask := range []int{0o077, 0o022, 0o027, 0o002} {
		t.Run(fmt.Sprintf("umask %03o", umask), func(t *testing.T) {
			at, err := os.MkdirTemp("", "group-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(at) })
			data := filepath.Join(at, "data")
			must(t, os.Mkdir(data, 0o755), os.Chown(data, 2001, 3000), os.Chmod(data, 0o775|os.ModeSetgid), os.Chmod(at, 0o755))
			first, second, outsider := dataUser{t, at, 2001, 3000, umask}, dataUser{t, at, 2002, 3000, umask}, dataUser{t, at, 2003, 3999, umask}
			prepared := filepath.Join(data, "demo-digits", "prepared")
			prepare := []string{"prepare", "-c", "demo-digits", "--data-dir", data}
			grade := func(m dataUser, code int) {
				t.Helper()
				out, got := m.run("grade-sample", filepath.Join(prepared, "public", "sample_submission.csv"), "demo-digits", "--data-dir", data)
				if (got == 0) != (code == 0) || code != 0 && !strings.Contains(out, "permission denied") {
					t.Errorf("user %d grades with status %d, want %d:\n%s", m.uid, got, code, out)
				}
			}
			check := func(m dataUser, code int, owner uint32, wants []string, args ...string) {
				t.Helper()
				out, got := m.run(append(prepare, args...)...)
				for _, want := range wants {
					if !strings.Contains(out, want) {
						t.Errorf("%q is not in\n%s", want, out)
					}
				}
				info, err := os.Stat(prepared)
				if got != code || err != nil || info.Sys().(*syscall.Stat_t).Uid != owner {
					t.Errorf("user %d prepares with status %d, want %d; the data: %+v, %v\n%s", m.uid, got, code, info.Sys(), err, out)
				}
				if left, _ := filepath.Glob(filepath.Join(data, "demo-digits", ".*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				grade(first, 0)
				grade(second, 0)
				grade(outsider, 1)
			}
			check(first, 0, 2001, nil, "--keep-raw")
			check(second, 0, 2002, nil)
			check(first, 0, 2001, nil, "--keep-raw")
			raw := filepath.Join(at, "raw")
			must(t, os.CopyFS(raw, os.DirFS(filepath.Join(data, "demo-digits", "raw"))), os.Chmod(raw, 0o755))
			spoil(t, filepath.Join(raw, "digits.csv"))
			check(second, 3, 2001, []string{"do not match the pins", prepared + " keeps the earlier ones"}, "--raw", raw)
			check(second, 1, 2001, []string{"empty or missing"}, "--raw", filepath.Join(at, "none"))

			// As an older version left it.
			must(t, os.Chmod(filepath.Join(prepared, "private"), 0o700))
			out, code := second.run(prepare...)
			for _, want := range []string{prepared + " belongs to user 2001", "chmod -R g+rwX " + prepared} {
				if code != 1 || !strings.Contains(out, want) {
					t.Errorf("status %d, %q is not in\n%s", code, want, out)
				}
			}
			grade(first, 0)
			check(first, 0, 2001, nil)
		})
	}
}

// spoil changes the last byte but one of a file, and lets all read it.
func spoil(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	text[len(text)-2] ^= 1
	must(t, os.WriteFile(path, text, 0o644), os.Chmod(path, 0o644))
}
