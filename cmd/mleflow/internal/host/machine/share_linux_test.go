package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sharedVariable makes this test program one that looks at a shared folder.
const sharedVariable = "MLEFLOW_TEST_SHARED"

func sharedDoctor(dir string) int {
	clean := strings.TrimPrefix(dir, "clean:")
	m := Machine{Root: "/", UID: os.Geteuid(), Env: os.Getenv}
	unix.Umask(map[int]int{2001: 0o022, 2002: 0o077, 2003: 0o007}[m.UID])
	checks, err := m.Share(clean, clean != dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = json.NewEncoder(os.Stdout).Encode(checks)
	return 0
}

// sharedFolder makes a folder of user 2001 and group 3000 that all may reach, and a
// function by which a user of that group looks at it.
func sharedFolder(t *testing.T, mode os.FileMode) (dir string, as func(uid uint32, how string) []Check) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become several users")
	}
	top := t.TempDir()
	dir, self := filepath.Join(top, "shared"), filepath.Join(top, "self")
	running, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Chmod(filepath.Dir(top), 0o755), os.Chmod(top, 0o755), os.Mkdir(dir, 0o700), os.Chown(dir, 2001, 3000), os.Chmod(dir, mode))
	}
	if err == nil {
		if err = os.Link(running, self); err != nil {
			var text []byte
			text, err = os.ReadFile(running)
			err = errors.Join(err, os.WriteFile(self, text, 0o755))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, func(uid uint32, how string) (checks []Check) {
		t.Helper()
		cmd := exec.Command(self)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", sharedVariable + "=" + how + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: 3000, NoSetGroups: false}}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &checks)
		}
		if err != nil {
			t.Fatalf("user %d: %v: %s", uid, err, stderr.Bytes())
		}
		return checks
	}
}

// TestShare has three users with three umasks look at a shared folder, one after the other.
func TestShare(t *testing.T) {
	dir, as := sharedFolder(t, 0o770|os.ModeSetgid)
	if c := find(t, as(2001, ""), "others"); c.Status != Warn {
		t.Errorf("%+v", c)
	}
	checks := as(2002, "")
	all := "this user can read, lock, replace, remove its files; objects can be linked"
	if text, _ := os.ReadFile("/proc/sys/fs/protected_hardlinks"); string(text) != "0\n" {
		all = "this user can read, lock, replace, remove its files; objects must be copied, not linked"
	}
	if c := find(t, checks, "user 2001"); c.Status != OK || !strings.HasPrefix(c.Detail, all) {
		t.Errorf("%+v", c)
	}
	if c := find(t, checks, "new files"); c.Status != Warn || !strings.Contains(c.Detail, "umask 0077") {
		t.Errorf("%+v", c)
	}
	checks = as(2003, "")
	for name, want := range map[string]string{"user 2001": all, "user 2002": all, "report of 2002": "user 2001: " + all, "group": "3000", "new files": "umask 0007"} {
		if c := find(t, checks, name); c.Status != OK || !strings.Contains(c.Detail, want) {
			t.Errorf("%+v, want %q", c, want)
		}
	}
	if _, ok := Verdict(checks); !ok {
		t.Error("the folder is not fit")
	}
	// What a user has closed is found.
	trace := filepath.Join(dir, tracePrefix+"2002")
	if err := errors.Join(os.Chmod(filepath.Join(trace, traceBelow), 0o750), os.Chmod(filepath.Join(trace, traceFile), 0o640)); err != nil {
		t.Fatal(err)
	}
	checks = as(2001, "")
	if c := find(t, checks, "user 2002"); c.Status != Missing || !strings.HasPrefix(c.Detail, "this user can read its files") || !strings.Contains(c.Detail, "replace (permission denied)") {
		t.Errorf("%+v", c)
	}
	if c := find(t, as(2003, ""), "report of 2001"); c.Status != Warn || !strings.Contains(c.Detail, "not: ") {
		t.Errorf("%+v", c)
	}
	// Old traces, and with clean all, are removed.
	old := time.Now().Add(-2 * traceAge)
	if err := os.Chtimes(trace, old, old); err != nil {
		t.Fatal(err)
	}
	as(2002, "clean:")
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestShareMode finds what is wrong with the folder itself.
func TestShareMode(t *testing.T) {
	for mode, want := range map[os.FileMode]string{
		0o770: "set-group-ID", 0o750 | os.ModeSetgid: "lacks the group's write bit", 0o770 | os.ModeSetgid | os.ModeSticky: "sticky", 0o777 | os.ModeSetgid: "every other user",
	} {
		_, as := sharedFolder(t, mode)
		if c := find(t, as(2001, ""), "group"); c.Status == OK || !strings.Contains(c.Detail, want) {
			t.Errorf("%v: %+v", mode, c)
		}
	}
}

// TestShareHostile puts links, pipes and nonsense in the place of what a user leaves: no
// file elsewhere is read, locked, replaced or removed, and nothing waits.
func TestShareHostile(t *testing.T) {
	dir, as := sharedFolder(t, 0o770|os.ModeSetgid)
	outside := filepath.Join(filepath.Dir(dir), "outside")
	canary := filepath.Join(outside, "remove")
	if err := errors.Join(os.Mkdir(outside, 0o777), os.Chmod(outside, 0o777), os.WriteFile(canary, []byte("canary"), 0o666), os.Chmod(canary, 0o666)); err != nil {
		t.Fatal(err)
	}
	trace := func(uid int) string { return filepath.Join(dir, fmt.Sprint(tracePrefix, uid)) }
	huge, err := os.Create(filepath.Join(outside, "huge"))
	if err == nil {
		err = errors.Join(huge.Truncate(1<<40), huge.Close())
	}
	as(2003, "")
	err = errors.Join(err,
		os.Symlink(outside, trace(4001)),
		os.Mkdir(trace(4002), 0o777), os.Chown(trace(4002), 4002, 3000), os.Chmod(trace(4002), 0o777),
		os.Symlink(outside, filepath.Join(trace(4002), traceBelow)), syscall.Mkfifo(filepath.Join(trace(4002), traceFile), 0o666),
		os.Symlink(canary, filepath.Join(trace(4002), traceReport)),
		os.Mkdir(filepath.Join(dir, "inside"), 0o777), os.Chmod(filepath.Join(dir, "inside"), 0o777), os.WriteFile(filepath.Join(dir, "inside", "remove"), []byte("canary"), 0o666),
		os.Mkdir(trace(4004), 0o777), os.Chown(trace(4004), 4004, 3000), os.Chmod(trace(4004), 0o777), os.Symlink("../inside", filepath.Join(trace(4004), traceBelow)),
		os.Mkdir(trace(4003), 0o777), // root's, in another user's name
		os.Remove(filepath.Join(trace(2003), traceReport)), os.Link(filepath.Join(outside, "huge"), filepath.Join(trace(2003), traceReport)),
		os.Symlink(outside, trace(2001)),
	)
	if err != nil {
		t.Fatal(err)
	}
	checks := as(2001, "")
	for name, want := range map[string]string{
		"user 4001": "somebody else", "user 4002": "do nothing with", "user 4003": "somebody else", "user 2003": "this user can read, lock",
	} {
		if c := find(t, checks, name); !strings.Contains(c.Detail, want) {
			t.Errorf("%+v, want %q", c, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "report"), []byte("[{\"name\":\"\\u001b[2J\xff\",\"status\":\"ok\",\"detail\":\""+strings.Repeat("x", 5000)+"\"}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "report"), filepath.Join(trace(2003), traceReport)); err != nil {
		t.Fatal(err)
	}
	if c := find(t, as(2002, ""), "report of 2003"); len(c.Detail) > 300 {
		t.Errorf("%d bytes of a report", len(c.Detail))
	}
	as(2001, "clean:")
	if text, err := os.ReadFile(filepath.Join(dir, "inside", "remove")); err != nil || string(text) != "canary" {
		t.Errorf("inside: %q, %v", text, err)
	}
	if text, err := os.ReadFile(canary); err != nil || string(text) != "canary" {
		t.Errorf("outside: %q, %v", text, err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) != 2 {
		t.Errorf("outside: %v, %v", list, err)
	}
}
