package machine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// A user's trace in a shared folder is a folder with a file to read and lock, one to link,
// a folder in which the others replace and remove files, and a report.
const (
	tracePrefix = disk.ProbePrefix + "shared-"
	traceFile   = "/file"
	traceObject = "/object" // read-only, as objects are
	traceBelow  = "/below"
	traceReport = "/report.json"
	// traceAge is the age at which anybody who can removes a trace.
	traceAge = 7 * 24 * time.Hour
	// reportBytes is the most of another user's report that is read.
	reportBytes = 16 << 10
)

func traceOf(uid int) string { return tracePrefix + strconv.Itoa(uid) }

// Share examines a folder that users of a group share. It says who may write there, tries
// what this user can do with what the users before left, and leaves the same for the next.
// No link that others left leads out of the folder. With clean, the traces are removed
// instead. The error is one of this user's own trace.
func (m Machine) Share(dir string, clean bool) ([]Check, error) {
	m.CacheDir = nolink.Folder(dir)
	root, err := os.OpenRoot(m.CacheDir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	theirs := m.traces(root, clean)
	if err := root.RemoveAll(traceOf(m.UID)); err != nil || clean {
		return In("shared", Check{Name: "traces", Status: OK, Detail: fmt.Sprintf("removed; %s of others left", view.Plural(len(theirs), "trace"))}), err
	}
	lock, err := m.leaveTrace()
	if err != nil {
		return nil, fmt.Errorf("leave something for the next user: %w", err)
	}
	defer lock.Close()
	group, err := m.groupOf()
	checks := []Check{group, m.newFiles(root)}
	if m.UID == 0 {
		checks = append(checks, Check{Name: "user", Status: Warn, Detail: "root may do everything, so its findings say little", Fix: "run it as the members of the group, one after the other"})
	}
	found, reports := []Check{}, []Check{}
	for _, uid := range theirs {
		found = append(found, m.tryTrace(root, uid))
		reports = append(reports, reportOf(root, uid)...)
	}
	text, errText := json.Marshal(found)
	err = cmp.Or(err, errText, nolink.WriteFile(filepath.Join(m.CacheDir, traceOf(m.UID)+traceReport), text, 0o644, false))
	if len(theirs) == 0 {
		found = []Check{{Name: "others", Status: Warn, Detail: "nobody else left anything yet", Fix: "let another member run mleflow doctor --shared " + m.CacheDir + ", then run it again"}}
	}
	return slices.Concat(In("shared", slices.Concat(checks, found, reports)...), In("cache", m.cacheFolder()...)), err
}

// traces lists the other users who left something, and removes what is old, or all.
func (m Machine) traces(root *os.Root, all bool) (uids []int) {
	list, _ := os.ReadDir(m.CacheDir)
	for _, e := range list {
		uid, err := strconv.Atoi(strings.TrimPrefix(e.Name(), tracePrefix))
		info, statErr := e.Info()
		if cmp.Or(err, statErr) != nil || traceOf(uid) != e.Name() || uid == m.UID {
			continue
		}
		if old := time.Since(info.ModTime()) > traceAge; !all && !old || root.RemoveAll(e.Name()) != nil {
			uids = append(uids, uid)
		}
	}
	return uids
}

// groupOf says who may write to the shared folder.
func (m Machine) groupOf() (Check, error) {
	info, err := os.Stat(m.CacheDir)
	if err != nil {
		return Check{}, err
	}
	_, gid := nolink.Owner(info)
	group, mode := nolink.GroupName(gid), info.Mode()
	c := Check{Name: "group", Status: OK, Detail: fmt.Sprintf("%s may write to %s as members of %s (mode %v)", cmp.Or(m.members(gid), "no user in /etc/group"), m.CacheDir, group, mode)}
	switch {
	case !nolink.IsShared(mode):
		c = c.but(Missing, ", if it were shared: it lacks the group's write bit or the set-group-ID bit, which gives what is made in it to the group",
			fmt.Sprintf("mleflow cache init --shared %s --cache-dir %s, or chmod 2770 %s", group, m.CacheDir, m.CacheDir))
	case mode&os.ModeSticky != 0:
		c = c.but(Missing, "; its sticky bit keeps them from replacing each other's files", "chmod -t "+m.CacheDir)
	case mode.Perm()&0o002 != 0:
		c = c.but(Warn, "; every other user may, too", "chmod o-rwx "+m.CacheDir)
	}
	return c, nil
}

// members are the members of a group in the files of the machine.
func (m Machine) members(gid int) string {
	var names []string
	for line := range strings.Lines(m.read("/etc/passwd") + "\n" + m.read("/etc/group")) {
		switch f := strings.Split(strings.TrimSpace(line), ":"); {
		case len(f) > 4 && f[3] == strconv.Itoa(gid):
			names = append(names, f[0])
		case len(f) == 4 && f[2] == strconv.Itoa(gid) && f[3] != "":
			names = append(names, strings.Split(f[3], ",")...)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// newFiles makes a file as other programs do, to see if the umask, or the default ACL in its
// place, closes it to the group.
func (m Machine) newFiles(root *os.Root) Check {
	mask := unix.Umask(0)
	unix.Umask(mask)
	source, fix := fmt.Sprintf("the umask %04o", mask), "umask 0007"
	if n, err := unix.Getxattr(m.CacheDir, "system.posix_acl_default", nil); err == nil && n > 0 {
		source, fix = "the default ACL", "setfacl -d -m g::rwx,m::rwx "+m.CacheDir
	}
	c := Check{Name: "new files", Status: OK, Detail: source + " lets the group write to what programs make here"}
	info, err := create(root, traceOf(m.UID)+"/plain")
	if err == nil && info.Mode().Perm()&0o060 == 0o060 {
		return c
	}
	c.Detail = source + " closes what other programs make here to the group; what mleflow makes is the group's in any case"
	return c.but(Warn, "", fix)
}

// leaveTrace makes this user's trace and locks its file until it is closed.
func (m Machine) leaveTrace() (lock *os.File, err error) {
	own := filepath.Join(m.CacheDir, traceOf(m.UID))
	err = cmp.Or(nolink.Mkdir(own, 0o755), nolink.Mkdir(own+traceBelow, 0o755), nolink.WriteFile(own+traceObject, nil, 0o444, true))
	for _, name := range []string{traceFile, traceBelow + "/replace", traceBelow + "/remove"} {
		err = cmp.Or(err, nolink.WriteFile(own+name, []byte("left by mleflow doctor --shared\n"), 0o644, true))
	}
	if err != nil {
		return nil, err
	}
	if lock, err = nolink.OpenFile(own+traceFile, os.O_RDWR, 0); err != nil {
		return nil, err
	}
	return lock, unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// tryTrace tries what this user can do with the trace of another, whose content is not
// trusted.
func (m Machine) tryTrace(root *os.Root, uid int) Check {
	c, trace := Check{Name: "user " + nolink.UserName(uid), Status: OK}, traceOf(uid)
	below := trace + traceBelow
	if info, err := root.Lstat(trace); err != nil || !info.IsDir() || !owns(uid, info) {
		return c.but(Warn, "somebody else left something in its name, which is ignored", "remove "+filepath.Join(m.CacheDir, trace))
	}
	var can, cannot []string
	note := func(verb string, err error) {
		if err != nil {
			cannot = append(cannot, fmt.Sprintf("%s (%v)", verb, reason(err)))
		} else {
			can = append(can, verb)
		}
	}
	_, err := readIn(root, trace+traceFile)
	note("read", err)
	note("lock", lockIn(root, trace+traceFile))
	if info, err := root.Lstat(below); err != nil || !info.IsDir() {
		note("write", cmp.Or(err, nolink.ErrForeign))
	} else {
		note("replace", m.replace(root, below))
		note("remove", remade(root, below+"/remove"))
	}
	c.Detail = "this user can " + cmp.Or(strings.Join(can, ", "), "do nothing with") + " its files"
	link := fmt.Sprintf("%s/link-%d", traceOf(m.UID), uid)
	if err := root.Link(trace+traceObject, link); err != nil {
		c.Detail += fmt.Sprintf("; objects must be copied, not linked (%v; see fs.protected_hardlinks)", reason(err))
	} else {
		c.Detail += "; objects can be linked"
	}
	if len(cannot) > 0 {
		c = c.but(Missing, "; not: "+strings.Join(cannot, ", "), "that user runs: chmod -R g+rwX "+m.CacheDir+"; a sticky bit (chmod -t) and other file systems' rules can forbid it, too")
	}
	return c
}

// reason is an error without the path, which says nothing here.
func reason(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

func owns(uid int, info os.FileInfo) bool {
	owner, _ := nolink.Owner(info)
	return owner == uid
}

// reportOf shows what another user's run found.
func reportOf(root *os.Root, uid int) (checks []Check) {
	text, err := readIn(root, traceOf(uid)+traceReport)
	if err != nil || json.Unmarshal(text, &checks) != nil {
		return nil
	}
	checks = checks[:min(len(checks), 20)]
	for i, c := range checks {
		checks[i] = Check{Name: "report of " + nolink.UserName(uid), Status: OK, Detail: view.Cut(view.OneLine(c.Name+": "+c.Detail), 250)}
		if c.Status != OK {
			checks[i] = checks[i].but(Warn, "", "see what that user's run says")
		}
	}
	return checks
}

// openIn opens a regular file below the shared folder, whatever others put there.
func openIn(root *os.Root, name string, flags int) (*os.File, error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, nolink.ErrForeign)
	}
	return root.OpenFile(name, flags|unix.O_NONBLOCK, 0)
}

func readIn(root *os.Root, name string) ([]byte, error) {
	f, err := openIn(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, reportBytes))
}

// lockIn locks a file, which its owner may hold just now: then the lock is seen.
func lockIn(root *os.Root, name string) error {
	f, err := openIn(root, name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		return err
	}
	return nil
}

func create(root *os.Root, name string) (os.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// replace renames a new file over another user's.
func (m Machine) replace(root *os.Root, below string) error {
	name := fmt.Sprintf("%s/new-%d", below, m.UID)
	_ = root.Remove(name)
	if _, err := create(root, name); err != nil {
		return err
	}
	return root.Rename(name, below+"/replace")
}

// remade removes another user's file, and puts one in its place for the next.
func remade(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil {
		return err
	}
	_, err := create(root, name)
	return err
}
