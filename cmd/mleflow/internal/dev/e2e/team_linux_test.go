package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache/nolink"
)

const teamPipeline = `
variable "runtime" {}
variable "n" { default = "1" }
variable "wait" { default = "0" }
agent "copy" {
  command = ["sh", "-c", "cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv; sleep ${var.wait}; echo ${var.n}"]
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  agent       = agent.copy
  competition = "demo-digits"
  data        = step.prepare.data.public
  runtime     = var.runtime
}
step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.prepare.data.private
}
`

// The groups of the team and of an outsider.
const (
	teamGroup    = 3000
	outsideGroup = 3001
)

// team are users of one machine with a cache that a group shares.
type team struct {
	t            *testing.T
	dir, cache   string
	program, hcl string
}

// member is a user with a umask. The primary group is the user's own, as on most machines.
type member struct {
	uid, group uint32
	umask      string
}

var members = []member{{2001, teamGroup, "0077"}, {2002, teamGroup, "0022"}, {2003, teamGroup, "0027"}, {2001, teamGroup, "0007"}}

// newTeam makes folders for the users, or skips the test if they cannot be had.
func newTeam(t *testing.T) *team {
	if os.Geteuid() != 0 {
		t.Skip("only root can become the users of a team")
	}
	dir, err := os.MkdirTemp("", "team-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &team{t: t, dir: dir, cache: filepath.Join(dir, "cache"), program: filepath.Join(dir, "mleflow"), hcl: filepath.Join(dir, "p.hcl")}
	from, err := os.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(m.program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	err = errors.Join(err, os.Chmod(dir, 0o755), os.WriteFile(m.hcl, []byte(teamPipeline), 0o644), os.Chmod(m.hcl, 0o644), os.Chmod(m.program, 0o755),
		os.Mkdir(m.cache, 0o755), os.Chown(m.cache, int(members[0].uid), int(members[0].uid)))
	for _, uid := range []int{2001, 2002, 2003, 2004} {
		home := m.home(uint32(uid))
		err = errors.Join(err, os.Mkdir(home, 0o700), os.Chown(home, uid, uid))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, text, err := m.run(members[1], "version"); err != nil {
		t.Skipf("another user cannot run a program in %s: %v %s", dir, err, text)
	}
	return m
}

func (m *team) home(uid uint32) string { return filepath.Join(m.dir, fmt.Sprint(uid)) }

func (m *team) command(who member, args ...string) *exec.Cmd {
	cmd := exec.Command("sh", append([]string{"-c", "umask " + who.umask + `; exec "$0" "$@"`, m.program}, args...)...)
	cmd.Dir = m.home(who.uid)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + cmd.Dir, "MLEFLOW_CACHE_DIR=" + m.cache, "TMPDIR=" + cmd.Dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.uid, Groups: []uint32{who.group}}}
	return cmd
}

func (m *team) run(who member, args ...string) (out, errs string, err error) {
	var stdout, stderr strings.Builder
	cmd := m.command(who, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// must runs a command that has to succeed, and returns what it prints.
func (m *team) must(who member, args ...string) string {
	m.t.Helper()
	out, errs, err := m.run(who, args...)
	if err != nil {
		m.t.Errorf("user %d, umask %s: %s: %v\n%s%s", who.uid, who.umask, strings.Join(args, " "), err, out, errs)
	}
	return out + errs
}

func (m *team) apply(who member, runtime string, n int, more ...string) string {
	m.t.Helper()
	return m.must(who, append([]string{"apply", m.hcl, "-var", "runtime=" + runtime, "-var", fmt.Sprint("n=", n)}, more...)...)
}

// TestTeam: three users of a group with four umasks use one cache, at the same time and
// after each other, while one collects what nothing needs and one has a quota. One of
// another group is refused. The group has its rights to everything that is not private.
func TestTeam(t *testing.T) {
	for _, runtime := range []string{"process", "sandbox"} {
		t.Run(runtime, func(t *testing.T) {
			m := newTeam(t)
			m.must(members[0], "cache", "init", "--shared", fmt.Sprint(teamGroup))
			if _, errs, err := m.run(members[0], "apply", m.hcl, "-var", "runtime="+runtime, "-var", "n=0"); err != nil && runtime == "sandbox" && strings.Contains(errs, "namespace") {
				t.Skipf("no sandbox here: %s", errs)
			} else if err != nil {
				t.Fatalf("%v: %s", err, errs)
			}
			for n, who := range members {
				m.apply(who, runtime, n)
			}
			for n := range members {
				for _, who := range members {
					m.apply(who, runtime, n, "--require-cached")
				}
			}
			m.history(runtime)
			m.together(runtime)
			m.killed(runtime)
			m.outsider(runtime)
			m.restored(runtime)
			m.must(members[1], "cache", "verify")
			for path, why := range m.lacking() {
				t.Errorf("%s: %s", path, why)
			}
		})
	}
}

// history: each sees the runs of all, and whose they are.
func (m *team) history(runtime string) {
	m.t.Helper()
	for _, who := range members {
		var list struct {
			Runs []struct{ ID, State, User string }
		}
		if err := json.Unmarshal([]byte(m.must(who, "runs", "--json", "-n", "0")), &list); err != nil {
			m.t.Fatal(err)
		}
		users := map[string]bool{}
		for _, run := range list.Runs {
			users[run.User] = true
			if run.State != "finished" {
				m.t.Errorf("%s: user %d sees run %s as %s", runtime, who.uid, run.ID, run.State)
			}
			if text := m.must(who, "show", run.ID); fmt.Sprint(who.uid) != run.User && !strings.Contains(text, "user      "+run.User) {
				m.t.Errorf("show does not say that run %s is user %s's:\n%s", run.ID, run.User, text)
			}
		}
		if len(users) != 3 {
			m.t.Errorf("runs of the users %v", users)
		}
	}
}

// together: all apply at the same time, one with a quota, while one collects.
func (m *team) together(runtime string) {
	m.t.Helper()
	var all, collector sync.WaitGroup
	done := make(chan struct{})
	collector.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			m.must(members[n%3], "cache", "gc")
			m.must(members[(n+1)%3], "cache", "gc", "--max-size", "300KB")
		}
	})
	for i, who := range members[:3] {
		all.Go(func() {
			for n := range 5 {
				cmd := m.command(who, "apply", m.hcl, "-var", "runtime="+runtime, "-var", fmt.Sprint("n=", 10*(i+n%3)+100))
				if i == 2 {
					cmd.Env = append(cmd.Env, "MLEFLOW_CACHE_QUOTA=4MB")
				}
				if out, err := cmd.CombinedOutput(); err != nil {
					m.t.Errorf("user %d applies while another collects: %v\n%s", who.uid, err, out)
				}
			}
		})
	}
	all.Wait()
	close(done)
	collector.Wait()
}

// killed: an attempt whose mleflow is killed stays its user's; others go on.
func (m *team) killed(runtime string) {
	m.t.Helper()
	cmd, _ := m.attempt(members[0], runtime)
	m.apply(members[1], runtime, 1001) // while another user's attempt runs
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	m.apply(members[2], runtime, 1002)
	m.must(members[1], "cache", "gc")
	m.must(members[2], "runs")
	m.must(members[0], "runs", "cleanup")
	m.must(members[0], "cache", "gc")
}

// attempt starts an apply whose attempt runs when it returns.
func (m *team) attempt(who member, runtime string) (*exec.Cmd, io.Reader) {
	m.t.Helper()
	cmd := m.command(who, "apply", m.hcl, "--json", "-var", "runtime="+runtime, "-var", "n=1000", "-var", "wait=100")
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		m.t.Fatal(err)
	}
	buf, seen := make([]byte, 64<<10), ""
	for err == nil && !strings.Contains(seen, `"phase":"running"`) {
		var k int
		k, err = out.Read(buf)
		seen += string(buf[:k])
	}
	if err != nil {
		m.t.Fatalf("the attempt did not start: %v\n%s", err, seen)
	}
	return cmd, out
}

// outsider: a user of another group is told what to do, and gets nothing.
func (m *team) outsider(runtime string) {
	m.t.Helper()
	who := member{2004, outsideGroup, "0022"}
	for _, args := range [][]string{{"apply", m.hcl, "-var", "runtime=" + runtime}, {"runs"}, {"cache", "info"}, {"show", "latest"}} {
		out, errs, err := m.run(who, args...)
		if err == nil || out != "" || !strings.Contains(errs, fmt.Sprintf("it belongs to the group %d, and 2004 is not a member; ask its owner, 2001", teamGroup)) {
			m.t.Errorf("an outsider's %v: %v, %s%s", args, err, out, errs)
		}
	}
	if _, errs, err := m.run(who, "cache", "init", "--shared", fmt.Sprint(outsideGroup)); err == nil {
		m.t.Errorf("an outsider takes the cache: %s", errs)
	}
}

// restored: what somebody's chmod broke is named, with the command that repairs it.
func (m *team) restored(runtime string) {
	m.t.Helper()
	for _, broken := range []string{"index", "runs", "."} {
		if err := os.Chmod(filepath.Join(m.cache, broken), 0o750); err != nil {
			m.t.Fatal(err)
		}
		if _, errs, err := m.run(members[1], "apply", m.hcl, "-var", "runtime="+runtime); err == nil || !strings.Contains(errs, "mleflow cache init --shared 3000") {
			m.t.Errorf("%s without the group's rights: %v, %s", broken, err, errs)
		}
		m.must(members[0], "cache", "init", "--shared", fmt.Sprint(teamGroup))
		m.apply(members[1], runtime, 1)
	}
}

// lacking lists what the group has too few rights to. Private are the work folders of live
// processes, kept attempts, each user's sandbox and the reports of crashes.
func (m *team) lacking() map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(m.cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(m.cache, path)
		above := filepath.Dir(rel)
		if d.IsDir() && (above == "tmp" || above == "kept" || strings.HasPrefix(rel, "sandbox/user-")) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil || above == "crashes" {
			return err
		}
		_, gid := nolink.Owner(info)
		switch mode := info.Mode(); {
		case gid != teamGroup:
			found[rel] = fmt.Sprint("group ", gid)
		case mode.IsDir() && !nolink.IsShared(mode), mode != nolink.Grouped(mode) && !(mode&0o040 != 0 && strings.HasPrefix(rel, "runs/")):
			found[rel] = mode.String()
		}
		return nil
	})
	if err != nil {
		m.t.Error(err)
	}
	return found
}

// TestTeamConverts gives a cache with results, which one user made under a umask that shuts
// out others, to a group.
func TestTeamConverts(t *testing.T) {
	m := newTeam(t)
	m.apply(members[0], "process", 1)
	if _, errs, err := m.run(members[1], "apply", m.hcl, "-var", "runtime=process", "--require-cached"); err == nil {
		t.Errorf("another user reads a private cache: %s", errs)
	}
	running, out := m.attempt(members[0], "process")
	if _, errs, err := m.run(members[0], "cache", "init", "--shared", "3000"); err == nil || !strings.Contains(errs, "other processes have it open (1)") {
		t.Errorf("a cache that is in use is given to a group: %v, %s", err, errs)
	}
	_ = running.Process.Signal(os.Interrupt)
	_, _ = io.Copy(io.Discard, out)
	_ = running.Wait()
	if _, errs, err := m.run(members[1], "cache", "init", "--shared", "3000"); err == nil || !strings.Contains(errs, "permission denied") {
		t.Errorf("another user gives the cache to a group: %v, %s", err, errs)
	}
	m.must(members[0], "cache", "init", "--shared", "3000")
	for _, who := range slices.Backward(members) {
		m.apply(who, "process", 1, "--require-cached")
	}
	for path, why := range m.lacking() {
		t.Errorf("%s: %s", path, why)
	}
}
