package agentrun_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/steptest"
)

// machineWith is a kind on a machine that has some of the runtimes; the others
// say what they lack.
func machineWith(t *testing.T, auto string, has ...string) *steptest.Bench {
	t.Helper()
	here := func(rt executor.Runtime) executor.Runtime {
		rt.Available = func() executor.Availability {
			if slices.Contains(has, rt.Name) {
				return executor.Availability{OK: true, Because: rt.Name + " runs"}
			}
			return executor.Availability{Because: "no " + rt.Name, Fix: "get " + rt.Name}
		}
		return rt
	}
	return steptest.New(agentrun.Kind(agentrun.Deps{
		Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Auto: auto, Self: staticProgram(t),
		Runtimes: executor.NewRegistry(process.Runtime(""), here(sandbox.New(sandbox.Options{}).Runtime()), here(containerd.New(containerd.Options{}).Runtime())),
	}))
}

// staticProgram is a file that needs no libraries, as this test does where it is
// built with -race.
func staticProgram(t *testing.T) string {
	t.Helper()
	var text bytes.Buffer
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Version: uint32(elf.EV_CURRENT), Ehsize: 64,
	}
	if err := binary.Write(&text, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "static")
	if err := os.WriteFile(path, text.Bytes(), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAuto(t *testing.T) {
	builtIn := who([]string{"mleflow", "agent", "dummy"}, nil)
	bare := who([]string{"/bin/true"}, nil)
	elsewhere := who([]string{staticProgram(t)}, nil)
	withImage := who([]string{"/bin/true"}, map[string]cty.Value{"image": cty.StringVal("local:x@sha256:" + strings.Repeat("0", 64))})
	for _, tt := range []struct {
		name            string
		agent           cty.Value
		auto            string
		has             []string
		required        string
		runtime, reason string
		refused         []string
	}{
		{name: "the strongest", agent: builtIn, has: []string{"containerd", "sandbox"}, runtime: "containerd", reason: "containerd runs"},
		{name: "no containerd", agent: builtIn, has: []string{"sandbox"}, runtime: "sandbox", reason: "containerd: no containerd"},
		{name: "nothing", agent: builtIn, runtime: "process", reason: "containerd: no containerd; sandbox: no sandbox"},
		{name: "image", agent: withImage, has: []string{"sandbox"}, runtime: "sandbox", reason: "containerd: no containerd"},
		{name: "no image", agent: bare, has: []string{"containerd", "sandbox"}, runtime: "sandbox", reason: `containerd: it needs an image, and agent "tester" has no image`},
		{name: "no image and required", agent: bare, has: []string{"containerd", "sandbox"}, required: "sandbox", refused: []string{"sandbox: its isolation is host-files"}},
		{name: "no image and less required", agent: bare, has: []string{"sandbox"}, required: "host-files", runtime: "sandbox", reason: "containerd"},
		{name: "a program in the home", agent: elsewhere, has: []string{"sandbox"}, runtime: "process", reason: "sandbox: without an image, a sandbox shows only programs in /usr, not "},
		{name: "image and nothing", agent: withImage, refused: []string{`cannot run agent "tester"|no runtime of this machine can run agent "tester"`, "containerd: no containerd; get containerd", "sandbox: no sandbox; get sandbox", "it runs no images"}},
		{name: "required and there", agent: builtIn, has: []string{"sandbox"}, required: "sandbox", runtime: "sandbox", reason: "containerd: no containerd"},
		{name: "required and not there", agent: builtIn, required: "sandbox", refused: []string{`the required isolation "sandbox"`, "containerd: no containerd; get containerd", "sandbox: no sandbox; get sandbox", "process: its isolation is none"}},
		{name: "more required than there is", agent: builtIn, has: []string{"sandbox"}, required: "container", refused: []string{"sandbox: its isolation is sandbox", "get containerd"}},
		{name: "required of an agent without image", agent: bare, has: []string{"containerd"}, required: "sandbox", refused: []string{"it needs an image"}},
		{name: "named by the machine", agent: builtIn, auto: "process", has: []string{"containerd", "sandbox"}, runtime: "process", reason: "MLEFLOW_AUTO_RUNTIME names it"},
		{name: "named and not there", agent: builtIn, auto: "containerd", has: []string{"sandbox"}, refused: []string{"containerd: no containerd; get containerd"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := machineWith(t, tt.auto, tt.has...)
			args := values(b, t, tt.agent)
			if tt.required != "" {
				args["required_isolation"] = cty.StringVal(tt.required)
			}
			settled, choices, err := b.Kind.Settle(b.Args(t, args))
			if tt.refused != nil {
				refusedWith(t, err, tt.refused)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c := choices[0]
			if c.Value != tt.runtime || !strings.Contains(c.Why, tt.reason) || settled.Get("runtime").AsString() != tt.runtime {
				t.Errorf("chosen %+v, want %s because %q", c, tt.runtime, tt.reason)
			}
			if unsafe := tt.runtime == "process"; unsafe != strings.Contains(c.Warning, "NOT ISOLATED") || unsafe != strings.Contains(c.Warning, "untrusted") {
				t.Errorf("warning %q", c.Warning)
			}
			if _, err := b.Kind.New(settled); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestActivatedEnvironment: the Python of an environment that is activated here is not
// that of an agent in a sandbox, which is told.
func TestActivatedEnvironment(t *testing.T) {
	t.Setenv("CONDA_PREFIX", "")
	t.Setenv("PATH", "/usr/bin:/bin")
	for _, tt := range []struct {
		program, active, runtime string
		warned                   bool
	}{
		{"python3", "/home/me/venv", "sandbox", true}, {"python", "/home/me/venv", "sandbox", true},
		{"python3", "", "sandbox", false}, {"/bin/true", "/home/me/venv", "sandbox", false}, {"python3", "/home/me/venv", "process", false},
	} {
		t.Setenv("VIRTUAL_ENV", tt.active)
		b := machineWith(t, tt.runtime, "sandbox")
		_, choices, err := b.Kind.Settle(b.Args(t, values(b, t, who([]string{tt.program}, nil))))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(choices[0].Warning, `python { requirements = "requirements.txt" }`); got != tt.warned {
			t.Errorf("%+v: %q", tt, choices[0].Warning)
		}
	}
}

func refusedWith(t *testing.T, err error, wants []string) {
	t.Helper()
	if err == nil {
		t.Fatal("it is not refused")
	}
	for _, want := range wants {
		if !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// TestAutoKey: a key has the runtime that was chosen, as if it had been written.
func TestAutoKey(t *testing.T) {
	for _, name := range []string{"containerd", "sandbox", "process"} {
		b := machineWith(t, "", name)
		args := values(b, t, who([]string{"mleflow", "agent", "dummy"}, nil))
		auto := b.Key(t, args)
		args["runtime"] = cty.StringVal(name)
		if written := b.Key(t, args); auto["runtime"] != name || auto["condition.runtime"] != name || auto["runtime"] != written["runtime"] || len(auto) != len(written) {
			t.Errorf("%s: chosen %v, written %v", name, auto, written)
		}
		args["required_isolation"] = cty.StringVal("none")
		if _, is := b.Key(t, args)["required_isolation"]; is {
			t.Error("what is required is in the key")
		}
	}
}

// TestAutoOpen: a pipeline is valid wherever it is checked, as far as the machine
// decides.
func TestAutoOpen(t *testing.T) {
	b := machineWith(t, "")
	args := values(b, t, who([]string{"/bin/true"}, map[string]cty.Value{"image": cty.StringVal("x")}))
	args["required_isolation"] = cty.StringVal("container")
	if _, err := b.Kind.New(b.Args(t, args)); err != nil {
		t.Error(err)
	}
	args["runtime"] = cty.StringVal("process")
	args["agent"] = who([]string{"/bin/true"}, nil)
	_, err := b.Kind.New(b.Args(t, args))
	refusedWith(t, err, []string{`the required isolation is "container", and that of runtime "process" is "none"`})
}

// TestAutoDynamic: a mleflow that is linked with libraries makes no image of
// itself, so that its own agents run as processes.
func TestAutoDynamic(t *testing.T) {
	const linked = "/bin/sh"
	if f, err := os.Open(linked); err != nil {
		t.Skip(err)
	} else {
		f.Close()
	}
	self, err := filepath.EvalSymlinks(linked)
	if err != nil {
		t.Fatal(err)
	}
	yes := func(rt executor.Runtime) executor.Runtime {
		rt.Available = func() executor.Availability { return executor.Availability{OK: true} }
		return rt
	}
	b := steptest.New(agentrun.Kind(agentrun.Deps{
		Catalog: catalog(t), Grader: grading.Local{Metrics: metric.All()}, Self: self,
		Runtimes: executor.NewRegistry(process.Runtime(""), yes(sandbox.New(sandbox.Options{}).Runtime())),
	}))
	_, choices, err := b.Kind.Settle(b.Args(t, values(b, t, who([]string{"mleflow", "agent", "dummy"}, nil))))
	if err != nil || choices[0].Value != "process" || !strings.Contains(choices[0].Why, "CGO_ENABLED=0") {
		t.Errorf("%+v, %v", choices, err)
	}
}
