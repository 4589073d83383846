package pyenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// The paths of uv, the work folder and the folder of packages in the sandbox.
const (
	guestUV       = "/opt/uv"
	guestWork     = "/work"
	guestPackages = "/packages"
	guestCerts    = "/opt/certificates.pem"
)

// outputBytes limits the output of one program.
const outputBytes = 16 << 20

// process is a program to start for an installation.
type process struct {
	argv []string
	env  map[string]string
	// own and theirs are the servers that it may reach, "host:port": of this user's
	// indexes, and of those that requirements name.
	own, theirs []string
}

func (t *Tool) isolated() bool { return t.o.Sandbox.Executor != nil && t.o.Sandbox.Here().OK }

// missing returns the reason why there is no sandbox, for the end of a sentence.
func (t *Tool) missing() string {
	if t.o.Sandbox.Executor == nil {
		return ""
	}
	return ". There is no sandbox, since " + t.o.Sandbox.Here().Because
}

// at returns the path of a file of the work folder as programs see it.
func (t *Tool) at(name string) string {
	if t.isolated() {
		return filepath.Join(guestWork, name)
	}
	return filepath.Join(t.o.Work, name)
}

// write writes a file into the work folder.
func (t *Tool) write(name, text string) error {
	return os.WriteFile(filepath.Join(t.o.Work, name), []byte(text), 0o600)
}

// run runs uv with the network of the indexes that it and the user's variables name.
// Its environment is empty but for what concerns these indexes.
func (t *Tool) run(ctx context.Context, indexes []string, args ...string) error {
	packages, uv := filepath.Join(t.o.Dir, "packages"), t.path
	if err := errors.Join(os.MkdirAll(packages, 0o700), os.MkdirAll(filepath.Join(t.o.Work, "home"), 0o700)); err != nil {
		return err
	}
	if t.isolated() {
		packages, uv = guestPackages, guestUV
	}
	p := process{argv: append([]string{uv}, args...), env: map[string]string{
		"PATH": executor.DefaultPath, "LANG": "C.UTF-8", "HOME": t.at("home"), "TMPDIR": t.at("home"), "NO_COLOR": "1",
		"UV_CACHE_DIR": packages, "UV_NO_CONFIG": "1", "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never",
	}}
	if t.o.Offline {
		p.env["UV_OFFLINE"] = "1"
	} else {
		p.own, p.theirs = t.indexes.hosts(indexes)
		netrc := filepath.Join(t.o.Work, "home", ".netrc")
		defer os.Remove(netrc)
		if err := os.WriteFile(netrc, []byte(t.indexes.netrc(slices.Concat(p.own, p.theirs))), 0o600); err != nil {
			return err
		}
	}
	maps.Copy(p.env, t.indexes.vars)
	var out bytes.Buffer
	lines := &lineSayer{say: t.o.Say}
	code, err := t.start(ctx, io.MultiWriter(&out, lines), p)
	lines.flush()
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d", code)
	}
	if err != nil {
		return failure(ctx, err, out.String())
	}
	return nil
}

// start runs a program in the sandbox or, where there is none, as this user, and
// returns its exit status.
func (t *Tool) start(ctx context.Context, out io.Writer, p process) (code int, err error) {
	if t.isolated() {
		return t.startInside(ctx, out, p)
	}
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.o.Work, out, out
	maps.Copy(p.env, t.indexes.upstream)
	cmd.Env = executor.Pairs(p.env)
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 && ctx.Err() == nil {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (t *Tool) startInside(ctx context.Context, out io.Writer, p process) (code int, err error) {
	spec := executor.Spec{
		ID: "packages " + t.o.Work, Image: t.o.Sandbox.HostImage, Command: p.argv, Env: p.env, Dir: guestWork,
		Limits: executor.Limits{Grace: time.Second, LogBytes: outputBytes},
		Mounts: append([]executor.Mount{
			{Host: t.o.Work, Guest: guestWork},
			{Host: t.path, Guest: guestUV, ReadOnly: true},
		}, t.o.Python.mounts()...),
	}
	if packages := filepath.Join(t.o.Dir, "packages"); p.env["UV_CACHE_DIR"] != "" {
		spec.Mounts = append(spec.Mounts, executor.Mount{Host: packages, Guest: guestPackages})
		t.indexes.mount(&spec)
	}
	refused, err := t.connect(&spec, p)
	if err != nil {
		return 0, err
	}
	exit, err := t.o.Sandbox.Executor.Run(ctx, spec, out)
	if err == nil && exit.Reason != executor.Exited {
		err = fmt.Errorf("it %s", exit.Reason)
	}
	if others := refused(); err == nil && exit.Code != 0 && others != "" {
		err = fmt.Errorf("exit status %d, after %s. If the index needs it, set %s=host:port", exit.Code, others, hostsVariable)
	}
	return exit.Code, err
}

// connect gives a program the network of some servers, through a proxy. Where the
// machine has a proxy of its own, which may be the only way out, the program uses that.
// refused says what it asked for in vain.
func (t *Tool) connect(spec *executor.Spec, p process) (refused func() string, err error) {
	refused = func() string { return "" }
	switch {
	case len(p.own) == 0:
		return refused, nil
	case len(t.indexes.upstream) > 0:
		t.o.Say("uv has the machine's network, since the machine reaches indexes by a proxy of its own")
		spec.Network.Open = true
		maps.Copy(spec.Env, t.indexes.upstream)
		return refused, nil
	}
	policy, err := proxy.ParsePolicy(p.theirs)
	if err == nil {
		err = policy.Trust(p.own)
	}
	if err != nil {
		return nil, fmt.Errorf("index %w", err)
	}
	var mu sync.Mutex
	var others []string
	gate := proxy.New(proxy.Options{Allow: policy, Record: func(c proxy.Conn) {
		mu.Lock()
		defer mu.Unlock()
		if line := fmt.Sprintf("%s:%d was refused: %s", c.Host, c.Port, c.Reason); c.Verdict == proxy.Refused && !slices.Contains(others, line) {
			others = append(others, line)
		}
	}})
	service, vars := gate.Service()
	spec.Services = append(spec.Services, service)
	maps.Copy(spec.Env, vars)
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(others, ", ")
	}, nil
}

// mounts are what the interpreter needs of its installation, read-only.
func (i Interpreter) mounts() (list []executor.Mount) {
	for _, part := range i.Needs() {
		list = append(list, executor.Mount{Host: part.Host, Guest: part.At, ReadOnly: true})
	}
	return list
}
