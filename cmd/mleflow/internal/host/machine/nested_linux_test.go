package machine

import (
	"debug/elf"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/sandboxtest"
)

// nestedVariable makes this test program say what doctor says of the sandbox.
const nestedVariable = "MLEFLOW_TEST_NESTED"

// nestedDoctor prints the check of the sandbox.
func nestedDoctor() int {
	m := Machine{Root: "/", Env: os.Getenv, UID: os.Getuid(), Refused: sandbox.RefusedCalls,
		Sandbox: func() executor.Availability { return TrySandbox("/proc/self/exe", "/tmp") }}
	if err := json.NewEncoder(os.Stdout).Encode(m.sandbox()[0]); err != nil {
		return 1
	}
	return 0
}

// TestNested runs doctor in containers with the settings of Docker and Kubernetes: the
// sandbox works in those that docs/isolation.md says, and elsewhere doctor names what
// is missing, all of it and nothing else.
func TestNested(t *testing.T) {
	sandboxtest.Need(t)
	if f, err := elf.Open("/proc/self/exe"); err != nil || f.Section(".interp") != nil {
		t.Skip("the test program is linked with libraries, which a container with it alone lacks; make test builds it with CGO_ENABLED=0")
	}
	profile, err := sandbox.SeccompProfile()
	if err != nil {
		t.Fatal(err)
	}
	const calls, proc = "a seccomp profile refuses clone, clone3, mount, mount_setattr, umount2,", "parts of /proc are masked"
	type container = sandboxtest.Container
	for _, tt := range []struct {
		name string
		container
		pod bool
		// missing is what doctor says is; nothing if the sandbox works.
		missing []string
	}{
		{"Docker, default", container{}, false, []string{calls, proc}},
		{"Docker, a user, default", container{User: 1000}, false, []string{calls, proc}},
		{"Docker, profile", container{Seccomp: profile}, false, []string{proc}},
		{"Docker, systempaths", container{Unmasked: true}, false, []string{calls}},
		{"Docker, profile, systempaths", container{Seccomp: profile, Unmasked: true}, false, nil},
		{"Docker, a user, profile, systempaths", container{User: 1000, Seccomp: profile, Unmasked: true}, false, nil},
		{"Docker, privileged", container{Privileged: true}, false, nil},
		{"pod, default", container{Unconfined: true}, true, []string{proc}},
		{"pod, RuntimeDefault", container{User: 1000}, true, []string{calls, proc}},
		{"pod, hostUsers", container{User: 1000, UserNamespace: true}, true, []string{calls, proc}},
		{"pod, hostUsers, procMount", container{User: 1000, UserNamespace: true, Unmasked: true}, true, []string{calls}},
		{"pod, hostUsers, profile", container{User: 1000, UserNamespace: true, Seccomp: profile}, true, []string{proc}},
		{"pod, hostUsers, procMount, profile", container{User: 1000, UserNamespace: true, Unmasked: true, Seccomp: profile}, true, nil},
		{"pod, hostUsers, procMount, profile, root", container{UserNamespace: true, Unmasked: true, Seccomp: profile}, true, nil},
		{"pod, privileged", container{Privileged: true}, true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.Env = []string{nestedVariable + "=1"}
			if tt.pod {
				tt.Env = append(tt.Env, "KUBERNETES_SERVICE_HOST=10.0.0.1")
			}
			out, err := tt.Run(t, "/proc/self/exe")
			var c Check
			if err := json.Unmarshal([]byte(out), &c); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err != nil || (c.Status == OK) != (tt.missing == nil) {
				t.Fatalf("%v, %+v", err, c)
			}
			for _, what := range []string{calls, proc} {
				if names := strings.Contains(c.Detail, what); names != strings.Contains(strings.Join(tt.missing, "\n"), what) {
					t.Errorf("%q named: %v, in %q", what, names, c.Detail)
				}
			}
			if c.Status != OK && (tt.pod != (c.Example == PodSettings) || tt.pod != strings.Contains(c.Fix, "--print pod") || tt.pod && strings.Contains(c.Fix, "docker")) {
				t.Errorf("the fix is %q:\n%s", c.Fix, c.Example)
			}
		})
	}
}

// TestProfileIsLeast takes each call out of the profile that containerd's does not
// allow: without it there is no sandbox. clone is there for any program, and clone3
// starts a process in a control group, of which these containers have none.
func TestProfileIsLeast(t *testing.T) {
	sandboxtest.Need(t)
	text, err := sandbox.SeccompProfile()
	if err != nil {
		t.Fatal(err)
	}
	var rules struct{ Syscalls []struct{ Names []string } }
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	for _, name := range rules.Syscalls[0].Names {
		if name == "clone" || name == "clone3" {
			continue
		}
		without := strings.Replace(string(text), `"`+name+`"`, `"nothing"`, 1)
		c := sandboxtest.Container{User: 1000, Unmasked: true, Seccomp: []byte(without), Env: []string{nestedVariable + "=1"}}
		out, err := c.Run(t, "/proc/self/exe")
		if err != nil || !strings.Contains(out, `"status":"absent"`) {
			t.Errorf("without %s: %v, %s", name, err, out)
		}
	}
}
