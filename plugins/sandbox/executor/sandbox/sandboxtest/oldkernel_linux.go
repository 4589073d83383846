package sandboxtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OldKernelCommand is the first argument with which a test program calls OldKernelMain.
const OldKernelCommand = "old-kernel"

// OldKernel is set in tests that OldKernelRun runs.
const OldKernel = "MLEFLOW_TEST_OLD_KERNEL"

// OldKernelRun runs tests of this test program again on a simulated old kernel, and
// returns their output. The kernel then lacks everything that the sandbox can do
// without: the system calls in absent, and overlays over the folder for temporary
// files, which itself is on as many overlays as the kernel allows.
func OldKernelRun(t testing.TB, tests string) string {
	t.Helper()
	dir, uid, gid := t.TempDir(), os.Geteuid(), os.Getegid()
	program := filepath.Join(dir, "program")
	text, err := os.ReadFile("/proc/self/exe")
	if err := errors.Join(err, os.WriteFile(program, text, 0o755), os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	if uid == 0 { // limits do not bind root
		uid, gid = anyUser, anyUser
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, OldKernelCommand, dir, "-test.v", "-test.run", tests)
	cmd.Env = append(os.Environ(), OldKernel+"=1", "TMPDIR="+filepath.Join(dir, "tmp"), "HOME="+dir)
	var all []uintptr
	for n := range uintptr(unix.CAP_LAST_CAP + 1) {
		all = append(all, n)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, AmbientCaps: all,
		Credential:  &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: gid, Size: 1}},
	}
	t.Cleanup(func() { // the remains of overlays are closed to their owner
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// anyUser is the user as whom root runs the tests.
const anyUser = 64997

// absent are system calls newer than Linux 4.18.
var absent = []uint32{
	unix.SYS_CLONE3, unix.SYS_CLOSE_RANGE, unix.SYS_OPENAT2, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE,
	unix.SYS_MOVE_MOUNT, unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF,
}

// OldKernelMain creates the environment of OldKernelRun around this process. It then
// gives up its capabilities and becomes the test program again.
func OldKernelMain(args []string) int {
	runtime.LockOSThread()
	if err := errors.Join(stackOverlays(args[0]), refuse(absent)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	err := syscall.Exec("/proc/self/exe", append([]string{os.Args[0]}, args[1:]...), os.Environ())
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// stackOverlays mounts overlays one over the other at dir/tmp until the kernel allows
// no more.
func stackOverlays(dir string) error {
	below := filepath.Join(dir, "0")
	if err := os.Mkdir(below, 0o755); err != nil {
		return err
	}
	for n := 1; ; n++ {
		layer := filepath.Join(dir, fmt.Sprint(n))
		for _, name := range []string{"", "upper", "work", "merged"} {
			if err := os.Mkdir(filepath.Join(layer, name), 0o755); err != nil {
				return err
			}
		}
		options := fmt.Sprintf("userxattr,lowerdir=%s,upperdir=%s/upper,workdir=%s/work", below, layer, layer)
		if err := unix.Mount("overlay", filepath.Join(layer, "merged"), "overlay", 0, options); err != nil {
			if n == 1 {
				return nil // overlays do not exist at all
			}
			return os.Symlink(below, filepath.Join(dir, "tmp"))
		}
		below = filepath.Join(layer, "merged")
	}
}

// refuse makes system calls unknown to the program that this thread becomes.
func refuse(calls []uint32) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, number := range calls {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: number},
			unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}
