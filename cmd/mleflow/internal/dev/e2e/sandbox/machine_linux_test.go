package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker/dockertest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/sandboxtest"
)

// mleflow and rogue are the programs under test and the agent, built once.
var mleflow, rogue string

// programsVariable is the folder in which they are, when another test program has
// built them.
const programsVariable = "MLEFLOW_TEST_PROGRAMS"

func TestMain(m *testing.M) {
	if append(os.Args, "")[1] == sandboxtest.OldKernelCommand {
		os.Exit(sandboxtest.OldKernelMain(os.Args[2:]))
	}
	if dir := os.Getenv(programsVariable); dir != "" {
		mleflow, rogue = filepath.Join(dir, "mleflow"), filepath.Join(dir, "rogue")
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "mleflow-sandbox-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mleflow, rogue = filepath.Join(dir, "mleflow"), filepath.Join(dir, "rogue")
	for program, from := range map[string]string{mleflow: "cmd/mleflow", rogue: "cmd/mleflow/internal/dev/e2e/rogue"} {
		build := exec.Command("go", "build", "-o", program, "github.com/mleflow/mleflow/"+from)
		build.Stderr = os.Stderr
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // static, for images that hold nothing else
		if err := build.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n", from, err)
			_ = os.RemoveAll(dir)
			os.Exit(1)
		}
	}
	_ = os.Chmod(dir, 0o755) // other users start what is in it, too
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// times is how often a test tries, from a variable.
func times(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// host is a machine with a cache, the image of the rogue and, for the runtime
// containerd, a daemon of its own.
type host struct {
	t       testing.TB
	runtime string
	daemon  *containerdtest.Daemon
	// server is that of the runtime docker.
	server *dockertest.Server
	// user runs mleflow, unless it is who runs the test.
	user  *syscall.Credential
	dir   string
	cache string
	image string
	env   []string
}

func newHost(t testing.TB) *host {
	t.Helper()
	d := containerdtest.Start(t)
	d.Options.Namespace = containerd.Namespace
	d.Options.StateDir = filepath.Join(d.Dir, "containerd")
	d.Options.Self = mleflow
	dir := t.TempDir()
	h := &host{t: t, runtime: "containerd", daemon: d, dir: dir, cache: filepath.Join(dir, "cache")}
	h.env = append(os.Environ(), "CONTAINERD_ADDRESS="+d.Options.Socket, "MLEFLOW_STATE_DIR="+d.Dir, "MLEFLOW_CACHE_DIR=", "MLEFLOW_AUTO_RUNTIME=process", "TERM=dumb")
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
	h.makeImage()
	return h
}

// anyUser runs mleflow where root runs the tests.
const anyUser = 64997

// newSandboxHost is a machine for the runtime sandbox: mleflow runs as a user
// without privileges.
func newSandboxHost(t testing.TB) *host {
	t.Helper()
	try := exec.Command("/bin/true")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if err := try.Run(); err != nil {
		t.Skipf("the kernel refuses user namespaces: %v", err)
	}
	dir := t.TempDir()
	h := &host{t: t, runtime: "sandbox", dir: dir, cache: filepath.Join(dir, "cache")}
	// The folder for temporary files may be closed to the user that root chooses.
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	h.env = append(os.Environ(), "MLEFLOW_CACHE_DIR=", "MLEFLOW_AUTO_RUNTIME=process", "TERM=dumb", "HOME="+dir, "TMPDIR="+tmp)
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
	h.makeImage()
	if os.Geteuid() == 0 {
		h.user = &syscall.Credential{Uid: anyUser, Gid: anyUser}
		h.give()
	}
	return h
}

// give gives all of the test's files to mleflow's user.
func (h *host) give() {
	if h.user == nil {
		return
	}
	err := errors.Join(os.Chmod(filepath.Dir(h.dir), 0o711), filepath.WalkDir(h.dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, int(h.user.Uid), int(h.user.Gid)))
	}))
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) makeImage() {
	made, err := (&image.Builder{Dir: filepath.Join(h.dir, "images")}).Build(context.Background(), image.Static(rogue, "rogue"), os.Stderr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.image = made.Path
}

// executor is the runtime containerd as mleflow has it, to look at what there is.
func (h *host) executor() *containerd.Executor {
	e := containerd.New(h.daemon.Options)
	h.t.Cleanup(func() { _ = e.Close() })
	return e
}

// write writes a pipeline.
func (h *host) write(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.Command(mleflow, append(args, "--cache-dir", h.cache)...)
	cmd.Env, cmd.Dir = h.env, h.dir
	if h.user != nil {
		h.give() // what the test wrote since
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.user}
	}
	return cmd
}

// run runs mleflow to its end.
func (h *host) run(args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	var out, errs bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// event is what the tests read of a JSON event.
type event struct {
	Type    string `json:"type"`
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Status  string `json:"status"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Text    string `json:"text"`
	Ran     int    `json:"ran"`
}

// apply applies to the end and returns the outputs and how many steps ran.
func (h *host) apply(file string, args ...string) (outputs map[string]string, ran int) {
	h.t.Helper()
	stdout, stderr, code := h.run(append([]string{"apply", file, "--json"}, args...)...)
	if code != 0 {
		h.t.Fatalf("apply: exit %d\n%s%s", code, tail(stdout), tail(stderr))
	}
	outputs = map[string]string{}
	for text := range strings.Lines(stdout) {
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			h.t.Fatalf("event %q: %v", text, err)
		}
		switch e.Type {
		case "output":
			outputs[e.Name] = e.Value
		case "run_finished":
			ran = e.Ran
		}
	}
	return outputs, ran
}

func tail(s string) string {
	if len(s) > 6000 {
		return "…" + s[len(s)-6000:]
	}
	return s
}

// clean fails the test unless nothing but images is left: no container, task,
// snapshot, lease, shim, run, volume or loop device, no mount, no process of
// the agent's, and no kept folder.
func (h *host) clean() {
	h.t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		left := h.leftovers()
		if left == "" {
			return
		}
		if time.Now().After(until) {
			h.t.Errorf("left on the machine: %s", left)
			return
		}
	}
}

func (h *host) leftovers() string {
	var left []string
	if h.daemon != nil {
		if inv, err := h.daemon.Inventory(context.Background()); err != nil || inv.Running() {
			left = append(left, fmt.Sprintf("%+v %v", inv, err))
		}
	}
	if h.server != nil {
		left = append(left, h.containers()...)
	}
	more, _ := filepath.Glob(filepath.Join(h.cache, "sandbox", "docker", "runs", "*"))
	if runs, _ := filepath.Glob(filepath.Join(h.cache, "sandbox", "runs", "*")); len(runs)+len(more) > 0 {
		left = append(left, fmt.Sprint("runs ", runs, more))
	}
	for _, m := range h.mounts() {
		left = append(left, "mount "+m)
	}
	for _, p := range processes() {
		left = append(left, fmt.Sprintf("process %d %s", p.pid, p.line))
	}
	if kept, _ := filepath.Glob(filepath.Join(h.cache, "kept", "*")); len(kept) > 0 {
		left = append(left, fmt.Sprint("kept ", kept))
	}
	return strings.Join(left, "; ")
}

// mounts are those of this machine below the test's folders.
func (h *host) mounts() (list []string) {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		at := strings.Fields(line)[1]
		if strings.HasPrefix(at, h.dir+"/") || h.daemon != nil && strings.HasPrefix(at, h.daemon.Dir+"/") {
			list = append(list, at)
		}
	}
	return list
}

// process is a running process of an agent's.
type process struct {
	pid  int
	line string
	// group is its control group.
	group string
}

// processes lists those whose program is the rogue, wherever they are.
func processes() (list []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		words := strings.Split(string(line), "\x00")
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		if err != nil || strings.TrimSpace(string(comm)) != "rogue" && words[0] != "/usr/bin/rogue" && exe != "/usr/bin/rogue" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		group, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if err != nil {
			continue
		}
		if ends(dir) { // it leaves its group before it is gone
			continue
		}
		list = append(list, process{pid, strings.Join(words, " "), string(group)})
	}
	return list
}

// ends reports whether the process of this folder of /proc is ending or has ended.
func ends(dir string) bool {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return true
	}
	// After the name, which ends with the last parenthesis, the seventh field are the
	// kernel's flags. The one of a process that ends is set before it leaves its group.
	const exiting = 0x4
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err != nil || flags&exiting != 0
}
