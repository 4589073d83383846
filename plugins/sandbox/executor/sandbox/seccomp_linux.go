package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	seccompbpf "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// x32Calls is the first number of a call in the x32 ABI.
const x32Calls = 0x4000_0000

// compile compiles a list of system calls into a filter. It omits calls that this
// machine's processor does not have. Calls of the processor's other ABIs are refused
// like any call that the list does not allow.
func compile(list *specs.LinuxSeccomp) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	policy := seccompbpf.Policy{}
	if policy.DefaultAction, err = action(list.DefaultAction, list.DefaultErrnoRet); err != nil {
		return nil, err
	}
	always := map[string]bool{}
	for _, rule := range list.Syscalls {
		if len(rule.Args) == 0 && rule.Action == specs.ActAllow {
			for _, name := range rule.Names {
				always[name] = true
			}
		}
	}
	done := map[string]bool{}
	groups := map[seccompbpf.Action]*seccompbpf.SyscallGroup{}
	var order []seccompbpf.Action
	for _, rule := range list.Syscalls {
		does, err := action(rule.Action, rule.ErrnoRet)
		if err != nil {
			return nil, err
		}
		if groups[does] == nil {
			groups[does] = &seccompbpf.SyscallGroup{Action: does}
			order = append(order, does)
		}
		for _, name := range rule.Names {
			_, known := info.SyscallNames[name]
			switch {
			case !known, done[name], always[name] && len(rule.Args) > 0:
			case len(rule.Args) == 0:
				groups[does].Names = append(groups[does].Names, name)
				done[name] = true
			default:
				conditions, err := conditions(rule.Args)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				groups[does].NamesWithCondtions = append(groups[does].NamesWithCondtions, seccompbpf.NameWithConditions{Name: name, Conditions: conditions})
			}
		}
	}
	for _, does := range order {
		policy.Syscalls = append(policy.Syscalls, *groups[does])
	}
	program, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	return raw(program)
}

// raw assembles a filter program, as the kernel reads it.
func raw(program []bpf.Instruction) ([]byte, error) {
	assembled, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, in := range assembled { // struct sock_filter
		out = binary.NativeEndian.AppendUint16(out, in.Op)
		out = binary.NativeEndian.AppendUint32(append(out, in.Jt, in.Jf), in.K)
	}
	return out, nil
}

// unknownCalls returns the filter that reports calls newer than the list as unknown, as
// runc does, so that libraries fall back to older ones.
func unknownCalls() ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	newest := 0
	for number := range info.SyscallNumbers {
		newest = max(newest, number)
	}
	return raw([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipFalse: 3},
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Calls, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(newest), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccompbpf.ActionAllow)},
		bpf.RetConstant{Val: uint32(seccompbpf.ActionErrno) | uint32(unix.ENOSYS)},
	})
}

func action(does specs.LinuxSeccompAction, errno *uint) (seccompbpf.Action, error) {
	switch does {
	case specs.ActAllow:
		return seccompbpf.ActionAllow, nil
	case specs.ActErrno:
		number := uint(unix.EPERM)
		if errno != nil {
			number = *errno
		}
		if number == uint(unix.EPERM) {
			return seccompbpf.ActionErrno, nil
		}
		return seccompbpf.ActionErrno | seccompbpf.Action(number), nil
	}
	return 0, fmt.Errorf("unknown action %q", does)
}

// operations maps the comparisons of a list to those of the library.
var operations = map[specs.LinuxSeccompOperator]seccompbpf.Operation{
	specs.OpEqualTo: seccompbpf.Equal, specs.OpNotEqual: seccompbpf.NotEqual,
	specs.OpLessThan: seccompbpf.LessThan, specs.OpLessEqual: seccompbpf.LessOrEqual,
	specs.OpGreaterThan: seccompbpf.GreaterThan, specs.OpGreaterEqual: seccompbpf.GreaterOrEqual,
	specs.OpMaskedEqual: seccompbpf.BitsNotSet,
}

func conditions(args []specs.LinuxSeccompArg) (list seccompbpf.ArgumentConditions, err error) {
	for _, arg := range args {
		does, known := operations[arg.Op]
		if !known || arg.Op == specs.OpMaskedEqual && arg.ValueTwo != 0 {
			return nil, fmt.Errorf("a condition that cannot be expressed: %s %d", arg.Op, arg.ValueTwo)
		}
		list = append(list, seccompbpf.Condition{Argument: uint32(arg.Index), Operation: does, Value: arg.Value})
	}
	return list, nil
}

// neededCalls are the system calls that a sandbox needs and that the default profiles
// of Docker and Kubernetes refuse. clone3 starts a process in a cgroup.
var neededCalls = []string{"clone", "clone3", "mount", "mount_setattr", "pivot_root", "sethostname", "umount2"}

// SeccompProfile returns a profile for a container in which the sandbox is to run. It
// is JSON in the form that Docker (--security-opt seccomp=FILE) and Kubernetes (a
// Localhost profile) read: containerd's default profile for this processor, plus the
// few calls that a sandbox needs. In the container, these calls have the same effect as
// for an unprivileged user on a host.
func SeccompProfile() ([]byte, error) {
	s, err := defaultSpec(nil)
	if err != nil {
		return nil, err
	}
	profile := seccomp.DefaultProfile(s)
	allowed := []specs.LinuxSyscall{{Names: neededCalls, Action: specs.ActAllow}}
	for _, rule := range profile.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(neededCalls, name) })
		if len(rule.Names) > 0 {
			allowed = append(allowed, rule)
		}
	}
	profile.Syscalls = allowed
	text, err := json.MarshalIndent(profile, "", "  ")
	return append(text, '\n'), err
}

// RefusedCalls returns the system calls that a sandbox needs and that a filter around
// this process refuses. It makes each call in a way that changes nothing, because the
// kernel itself would reject the arguments. It does not examine pivot_root and
// sethostname: for most users, the kernel refuses them before it examines the
// arguments.
func RefusedCalls() (names []string) {
	none := ^uintptr(0) // no descriptor, no flags, no address
	for _, call := range []struct {
		name                  string
		number, a, b, c, d, e uintptr
	}{
		{"clone", unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_FS, 0, 0, 0, 0},
		{"clone3", unix.SYS_CLONE3, 0, 0, 0, 0, 0},
		{"mount", unix.SYS_MOUNT, none, none, none, 0, none},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, none, none, none, none, 0},
		{"umount2", unix.SYS_UMOUNT2, none, none, 0, 0, 0},
	} {
		_, _, errno := unix.RawSyscall6(call.number, call.a, call.b, call.c, call.d, call.e, 0)
		if errno == unix.EPERM || errno == unix.ENOSYS && call.name == "clone3" {
			names = append(names, call.name)
		}
	}
	return names
}
