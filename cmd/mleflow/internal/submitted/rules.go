package submitted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// Rules are what a submitted pipeline may do. The zero value allows the least.
type Rules struct {
	// Secrets are the variables of this process that the pipeline may name as "env:NAME".
	Secrets []string `json:"secrets,omitempty"`
	// HostCode allows code that runs with the rights of the server.
	HostCode bool `json:"host_code,omitempty"`
	// Hosts are private places, "host:port", that agents and models may reach; "*" allows
	// agents the network of the machine.
	Hosts []string `json:"hosts,omitempty"`
	// RemoteCache is the server's, which the pipeline may name, too.
	RemoteCache string `json:"remote_cache,omitempty"`
	// GPUs is how many devices steps lease at a time: 0 is no limit, a negative one none.
	GPUs int `json:"gpus,omitempty"`

	// root is the folder of the pipeline, without links.
	root string
}

// errHost says what may be done about code that is not isolated.
var errHost = errors.New("its code would have the rights of the server: use the runtime sandbox or containerd, or ask the server's administrator for host_code")

// Root is the folder of the pipeline, the only one that it may read.
func (r *Rules) Root() string { return r.root }

// Withheld is how many of n devices steps must leave alone.
func (r *Rules) Withheld(n int) int {
	if r.GPUs == 0 {
		return 0
	}
	return max(0, n-max(0, r.GPUs))
}

// Path refuses a path of this machine outside the pipeline's folder. Relative ones start
// there.
func (r *Rules) Path(path string) error {
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(r.root, at)
	}
	if path == "" || checkout.Below(filepath.Clean(at), r.root) {
		return nil
	}
	return fmt.Errorf("%q is outside the pipeline's folder, and a submitted pipeline may read nothing else of the server: submit the file with the pipeline", path)
}

// host refuses a private place that the server's administrator does not name.
func (r *Rules) host(host, port string) error {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	addr, err := netip.ParseAddr(name)
	private := proxy.PrivateName(name)
	if err == nil {
		addr = addr.Unmap()
		private = !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is6() && strings.HasPrefix(addr.String(), "64:ff9b:")
	}
	if !private || slices.Contains(r.Hosts, name+":"+port) {
		return nil
	}
	return fmt.Errorf("%s:%s is in the server's own network; the server's administrator can allow it in hosts", host, port)
}

// secret refuses a reference to anything but an allowed secret.
func (r *Rules) secret(ref string) error {
	if kind, name, _ := strings.Cut(ref, ":"); ref == "" || kind == "env" && slices.Contains(r.Secrets, name) {
		return nil
	} else if kind == "env" {
		return fmt.Errorf("the server has no secret %s for you; it has: %s", name, cmp.Or(strings.Join(r.Secrets, ", "), "none"))
	}
	if _, err := secret.ParseRef(ref); err != nil {
		return err
	}
	return fmt.Errorf("a submitted pipeline names secrets as \"env:NAME\", not as files or commands of the server, which has: %s", cmp.Or(strings.Join(r.Secrets, ", "), "none"))
}

// image refuses an image that is not the submission's or a registry's.
func (r *Rules) image(ref string) error {
	switch {
	case ref == "", isFile(ref):
		return nil
	case strings.HasPrefix(ref, "local:"):
		return fmt.Errorf("%q is an image of the server: name one of a registry, or build it by a step of kind image", ref)
	}
	first, _, more := strings.Cut(ref, "/")
	if more && (strings.ContainsAny(first, ".:") || first == "localhost") {
		host, port, err := net.SplitHostPort(first)
		if err != nil {
			host, port = first, "443"
		}
		return r.host(host, port)
	}
	return nil
}

// model refuses a model block with a key or an address that is not allowed.
func (r *Rules) model(m step.Model) error {
	if m.Key != nil {
		if err := r.secret(m.Key.Ref); err != nil {
			return fmt.Errorf("key of model %q: %w", m.Name, err)
		}
	}
	if m.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(m.BaseURL)
	if err != nil {
		return nil // the kind refuses it
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	if slices.Contains(r.Hosts, u.Hostname()+":"+port) {
		return nil
	}
	// A public name may have a private address, so the administrator names all addresses.
	return fmt.Errorf("base_url of model %q: the server's administrator has not allowed %s:%s in hosts", m.Name, u.Hostname(), port)
}

// Kinds returns step kinds that keep the rules: each refuses arguments against them
// before anything runs.
func (r *Rules) Kinds(kinds []step.Kind) []step.Kind {
	for i := range kinds {
		kind, make := kinds[i].Name, kinds[i].New
		kinds[i].New = func(args step.Args) (step.Step, error) {
			if err := r.check(kind, args); err != nil {
				return nil, err
			}
			return make(args)
		}
	}
	return kinds
}

// Path is an argument of a step that names a file or folder of the machine.
type Path struct{ Arg, Path string }

// Paths are those of a step: what its pipeline reads besides the files of functions.
func Paths(kind string, args step.Args) (list []Path) {
	add := func(arg string, path ...string) {
		if text := args.Text(arg, path...); text != "" {
			list = append(list, Path{arg, text})
		}
	}
	switch kind {
	case "checksum":
		add("expected_dir")
	case "download":
		add("from")
		add("source", "path")
	case "task":
		add("from")
	case "image":
		if files := args.Get("files"); files != cty.NilVal && !files.IsNull() && files.IsWhollyKnown() {
			for _, v := range files.AsValueMap() {
				list = append(list, Path{"files", v.AsString()})
			}
		}
		if isFile(args.Text("base")) {
			add("base")
		}
	case "agent-run":
		if isFile(args.Text("agent", "image")) {
			add("agent", "image")
		}
	}
	return list
}

// isFile reports whether an image is a file or folder.
func isFile(image string) bool { return strings.HasPrefix(image, "/") || strings.HasPrefix(image, ".") }

// check refuses the arguments of a step. A kind that is not listed here may run nothing.
func (r *Rules) check(kind string, args step.Args) error {
	for _, p := range Paths(kind, args) {
		if err := r.Path(p.Path); err != nil {
			return step.WrongArg(p.Arg, err)
		}
	}
	switch kind {
	case "aggregate", "checksum", "download", "draw", "export", "grade", "prepare", "sketch", "task":
		return nil
	case "agent-run":
		return errors.Join(r.agent(args), r.network(args))
	case "check":
		return r.judge(args)
	case "image":
		return errors.Join(step.WrongArg("base", r.image(args.Text("base"))), r.network(args))
	case "python":
		return r.python(args)
	}
	if r.HostCode {
		return nil
	}
	return fmt.Errorf("a submitted pipeline has no steps of kind %s: %w", kind, errHost)
}

func (r *Rules) agent(args step.Args) error {
	var a struct {
		Agent step.Agent `cty:"agent"`
	}
	if err := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{"agent": args.Get("agent")})).Decode(&a); err != nil {
		return err
	}
	all := []error{step.WrongArg("agent", r.image(a.Agent.Image))}
	for _, ref := range a.Agent.Secrets {
		all = append(all, step.WrongArg("agent", r.secret(ref)))
	}
	for _, m := range a.Agent.Models {
		all = append(all, step.WrongArg("agent", r.model(m)))
	}
	if !r.HostCode {
		if args.Text("runtime") == "process" {
			all = append(all, step.WrongArg("runtime", fmt.Errorf("an agent of a submitted pipeline must be isolated: %w", errHost)))
		}
		if v := args.Get("capabilities"); v != cty.NilVal && !v.IsNull() && v.LengthInt() > 0 {
			all = append(all, step.WrongArg("capabilities", errors.New("an agent of a submitted pipeline has no capabilities")))
		}
	}
	return errors.Join(all...)
}

func (r *Rules) judge(args step.Args) error {
	judge := args.Get("judge")
	if judge == cty.NilVal || judge.IsNull() {
		return nil
	}
	var m struct {
		Model step.Model `cty:"model"`
	}
	if err := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{"model": judge.GetAttr("model")})).Decode(&m); err != nil {
		return err
	}
	return step.WrongArg("judge", r.model(m.Model))
}

// network refuses what agents or the commands of images may reach in the server's network.
func (r *Rules) network(args step.Args) error {
	v := args.Get("network")
	if v == cty.NilVal || v.IsNull() || slices.Contains(r.Hosts, "*") {
		return nil
	}
	var n struct {
		Allow []string `cty:"allow"`
		Open  bool     `cty:"open"`
	}
	if err := step.ArgsOf(v).Decode(&n); err != nil {
		return err
	}
	if n.Open {
		return step.WrongArg("network", errors.New("open is the server's own network, which the server's administrator has not allowed: list public places in allow"))
	}
	for _, place := range n.Allow {
		host, port, err := net.SplitHostPort(place)
		if err != nil {
			continue // the kind refuses it
		}
		if err := r.host(strings.TrimPrefix(host, "*."), port); err != nil {
			return step.WrongArg("network", err)
		}
	}
	return nil
}

// python refuses environments of the machine, and indexes in its network.
func (r *Rules) python(args step.Args) error {
	if args.Text("venv") != "" {
		return step.WrongArg("venv", errors.New("a submitted pipeline uses no environment of the server: give requirements"))
	}
	var a struct {
		Requirements *step.Artifact `cty:"requirements"`
		Lock         *step.Artifact `cty:"lock"`
	}
	pair := map[string]cty.Value{"requirements": args.Get("requirements"), "lock": args.Get("lock")}
	if err := step.ArgsOf(cty.ObjectVal(pair)).Decode(&a); err != nil {
		return err
	}
	for arg, file := range map[string]*step.Artifact{"requirements": a.Requirements, "lock": a.Lock} {
		if file == nil {
			continue
		}
		if file.Local == nil {
			return step.WrongArg(arg, errors.New("in a submitted pipeline it must be a file of the pipeline's folder"))
		}
		text, err := file.Local.Text()
		if err != nil {
			return step.WrongArg(arg, err)
		}
		list, err := pyenv.Parse(file.Name(), text)
		if err != nil {
			continue // the kind refuses it
		}
		for _, index := range list.Indexes {
			_, at, _ := strings.Cut(index, " ")
			u, err := url.Parse(at)
			if err == nil {
				err = r.host(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
			}
			if err != nil {
				return step.WrongArg(arg, err)
			}
		}
	}
	return nil
}

// Sources returns sources of data that keep the rules.
func (r *Rules) Sources(entries []source.Entry) []source.Entry {
	for i := range entries {
		entries[i].Source = &checked{entries[i].Source, r}
	}
	return entries
}

// checked is a source that a stranger names.
type checked struct {
	source.Source
	rules *Rules
}

// Check implements source.Source.
func (c *checked) Check(spec source.Spec) error {
	if spec.Path != "" && (spec.Base == nil || filepath.IsAbs(spec.Path)) {
		if err := c.rules.Path(spec.Path); err != nil {
			return err
		}
	}
	if spec.URL != "" {
		u, err := url.Parse(spec.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("a submitted pipeline takes data from http and https only")
		}
		port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		if err := c.rules.host(u.Hostname(), port); err != nil {
			return err
		}
	}
	return c.Source.Check(spec)
}

// Fingerprint implements source.Source. A definition that was not checked is refused.
func (c *checked) Fingerprint(spec source.Spec, h *digest.Hasher) error {
	if err := c.Check(spec); err != nil {
		return err
	}
	return c.Source.Fingerprint(spec, h)
}

// Inspect implements source.Inspector. Of a source that is none it knows nothing.
func (c *checked) Inspect(ctx context.Context, spec source.Spec) (a source.Availability, err error) {
	if err = c.Check(spec); err != nil {
		return a, err
	}
	if i, ok := c.Source.(source.Inspector); ok {
		a, err = i.Inspect(ctx, spec)
	}
	return a, err
}

// Pipeline refuses what a pipeline does outside its steps: it writes nothing to the
// server, tells none of its receivers, and has no cache of its own.
func (r *Rules) Pipeline(g *config.Graph) (diags diag.List) {
	for _, p := range g.Publications {
		diags = append(diags, diag.Error(p.Range, "Not published", "A submitted pipeline writes no files of the server. Take results with mleflow get, from the server's page, or in Python."))
	}
	for _, n := range g.Pipeline.Notify {
		diags = append(diags, diag.Error(n.Range, "Nobody is notified", "A submitted pipeline does not use the receivers of the server's user. Remove the notify block, and follow the submission with mleflow apply --follow or the events of the server's API."))
	}
	if at := g.Pipeline.RemoteCache; at != "" && at != "none" && at != r.RemoteCache {
		diags = append(diags, diag.General("Other remote cache", "A submitted pipeline uses the server's remote cache. Remove remote_cache from the mleflow block."))
	}
	return diags
}

// NoHost is an executor that runs nothing: in place of one whose code has the rights of
// the server.
type NoHost struct{}

// Run implements executor.Executor.
func (NoHost) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, fmt.Errorf("there is no sandbox on this machine: %w", errHost)
}
