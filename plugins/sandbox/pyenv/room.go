package pyenv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
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
		}, t.o.Python.Needs()...),
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
	spec.Services = append(spec.Services, gate.Service())
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(others, ", ")
	}, nil
}

// hostsVariable is the variable with further servers that uv may reach, "host:port",
// separated by commas: those at which an index has its files.
const hostsVariable = "MLEFLOW_INDEX_HOSTS"

// indexes are the places from which packages come by this user's variables.
type indexes struct {
	// vars are the variables that uv gets of them: no others of the user's.
	vars map[string]string
	// upstream are the variables of the machine's own proxy.
	upstream map[string]string
	// addresses and further are the indexes and servers that they name, and links the
	// folders and pages with wheels.
	addresses, further, links []string
	// certificates is a file, and netrcFile one with passwords of servers.
	certificates, netrcFile string
}

// named matches the variables with the user and the password of an index.
var named = pattern.New(`^UV_INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)$`)

// indexesOf reads the variables of uv and pip that say where packages are.
func indexesOf(environ []string) indexes {
	all := executor.Variables(environ)
	x := indexes{vars: map[string]string{}, upstream: map[string]string{}, netrcFile: all["NETRC"]}
	for to, value := range map[string]string{
		"UV_DEFAULT_INDEX": cmp.Or(all["UV_DEFAULT_INDEX"], all["UV_INDEX_URL"], all["PIP_INDEX_URL"]),
		"UV_INDEX":         cmp.Or(all["UV_INDEX"], all["UV_EXTRA_INDEX_URL"], all["PIP_EXTRA_INDEX_URL"]),
	} {
		if value != "" {
			x.vars[to] = value
			x.addresses = append(x.addresses, strings.Fields(value)...)
		}
	}
	for name, value := range all {
		switch {
		case value == "":
		case named.Regexp().MatchString(name), name == "UV_INDEX_STRATEGY", name == "UV_HTTP_TIMEOUT":
			x.vars[name] = value
		case slices.Contains(proxy.Variables, name):
			x.upstream[name], x.upstream["NO_PROXY"] = value, cmp.Or(all["NO_PROXY"], all["no_proxy"])
		}
	}
	split := func(r rune) bool { return r == ',' || r == ' ' }
	for _, at := range strings.FieldsFunc(all["UV_FIND_LINKS"], split) {
		if folder, err := filepath.Abs(at); err == nil && !strings.Contains(at, "://") {
			at = folder
		}
		x.links = append(x.links, at)
	}
	if x.links != nil {
		x.vars["UV_FIND_LINKS"] = strings.Join(x.links, ",")
	}
	if x.certificates = cmp.Or(all["SSL_CERT_FILE"], all["PIP_CERT"]); x.certificates != "" {
		x.vars["SSL_CERT_FILE"] = x.certificates
	}
	x.further = strings.FieldsFunc(all[hostsVariable], split)
	return x
}

// hosts returns the servers of this user's indexes, and those of the indexes that
// requirements name.
func (x indexes) hosts(options []string) (own, theirs []string) {
	addresses := append(slices.Concat(x.addresses, x.links), "https://files.pythonhosted.org") // the files of most indexes
	main := x.vars["UV_DEFAULT_INDEX"] != ""
	for _, option := range options {
		name, address, _ := strings.Cut(option, " ")
		theirs, main = append(theirs, servers(address)...), main || name == "--index-url"
	}
	if !main {
		addresses = append(addresses, "https://pypi.org")
	}
	own = slices.Clone(x.further)
	for _, address := range addresses {
		own = append(own, servers(address)...)
	}
	return own, theirs
}

// servers returns the server of an index, and those of its files if they are known.
func servers(address string) []string {
	if name, rest, ok := strings.Cut(address, "="); ok && !strings.Contains(name, "/") {
		address = rest // NAME=ADDRESS
	}
	at, err := url.Parse(address)
	if err != nil || at.Hostname() == "" {
		return nil
	}
	list := []string{net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), map[string]string{"http": "80"}[at.Scheme], "443"))}
	if strings.HasSuffix(at.Hostname(), ".pytorch.org") {
		list = append(list, "*.pytorch.org:443")
	}
	return list
}

// mount shows a sandbox the user's folders of wheels and certificates.
func (x indexes) mount(spec *executor.Spec) {
	links := slices.Clone(x.links)
	for i, at := range links {
		if filepath.IsAbs(at) {
			links[i] = fmt.Sprintf("/opt/wheels-%d", i)
			spec.Mounts = append(spec.Mounts, executor.Mount{Host: at, Guest: links[i], ReadOnly: true})
		}
	}
	if len(links) > 0 {
		spec.Env["UV_FIND_LINKS"] = strings.Join(links, ",")
	}
	if info, err := os.Stat(x.certificates); err == nil && info.Mode().IsRegular() {
		spec.Mounts = append(spec.Mounts, executor.Mount{Host: x.certificates, Guest: guestCerts, ReadOnly: true})
		spec.Env["SSL_CERT_FILE"] = guestCerts
	}
}

// netrc returns the entries of the user's netrc file for some servers.
func (x indexes) netrc(hosts []string) string {
	file := x.netrcFile
	if home, err := os.UserHomeDir(); err == nil && file == "" {
		file = filepath.Join(home, ".netrc")
	}
	text, _ := os.ReadFile(file)
	var b strings.Builder
	wanted := false
	for words := strings.Fields(string(text)); len(words) > 1 && words[0] != "macdef"; {
		switch key, value := words[0], words[1]; key {
		case "machine":
			wanted = slices.ContainsFunc(hosts, func(at string) bool {
				host, _, _ := net.SplitHostPort(at)
				return host == value
			})
			fallthrough
		case "login", "password", "account":
			if wanted {
				fmt.Fprintf(&b, "%s %s\n", key, value)
			}
			words = words[2:]
		default: // the default entry, which is for no server in particular
			wanted, words = false, words[1:]
		}
	}
	return b.String()
}
