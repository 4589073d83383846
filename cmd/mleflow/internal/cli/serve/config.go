package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// Config is the schema of the file of a server:
//
//	listen = "0.0.0.0:7431"
//	url    = "https://lab.example.org:7431"
//	tls {
//	  certificate = "cert.pem"
//	  key         = "key.pem"
//	}
//	user "ada" {
//	  role         = "admin"
//	  token_sha256 = "9f86…"
//	}
type Config struct {
	Listen string        `hcl:"listen,optional" doc:"address and port; by default 127.0.0.1:7431"`
	URL    string        `hcl:"url,optional" doc:"address at which people and their browsers reach the server, with the path of a reverse proxy; by default that of listen"`
	TLS    *tlsBlock     `hcl:"tls,block"`
	Users  []user        `hcl:"user,block"`
	Limits *queue.Limits `hcl:"limits,block"`
	Proxy  *proxy        `hcl:"proxy,block"`
	Secret []secretAt    `hcl:"secret,block"`

	Rollouts *rolloutsBlock `hcl:"rollouts,block"`

	Runs         int      `hcl:"runs,optional" doc:"how many submissions run at a time; by default 4, and at most parallelism"`
	Parallelism  int      `hcl:"parallelism,optional" doc:"how many steps all of them run at a time; by default the number of processors, or as many as the cluster of on allows"`
	HostCode     bool     `hcl:"host_code,optional" doc:"let submissions run code with the rights of the server: steps of kind exec and runtime \"process\""`
	Hosts        []string `hcl:"hosts,optional" doc:"private places that agents and models of submissions may reach, such as \"vllm.lab:8000\""`
	On           string   `hcl:"on,optional" doc:"cluster file"`
	RemoteCache  string   `hcl:"remote_cache,optional" doc:"address of a remote cache"`
	Competitions []string `hcl:"competitions,optional" doc:"folders of competitions besides those that ship with mleflow"`
	Offline      bool     `hcl:"offline,optional" doc:"forbid downloads"`
	Pass         []string `hcl:"pass,optional" doc:"variables of the server's environment that submissions have"`
}

// tlsBlock names the files of a certificate.
type tlsBlock struct {
	Certificate string `hcl:"certificate" doc:"PEM file of the certificate, with those between it and the root"`
	Key         string `hcl:"key" doc:"PEM file of its key"`
}

// user is a person who may sign in.
type user struct {
	Name   string        `hcl:"name,label"`
	Role   string        `hcl:"role" doc:"viewer, operator or admin"`
	Token  string        `hcl:"token,optional" doc:"reference of the token: env:NAME, file:PATH or command:LINE"`
	SHA256 string        `hcl:"token_sha256,optional" doc:"SHA-256 of the token, as serve token prints it"`
	Limits *queue.Limits `hcl:"limits,block"`

	Range hcl.Range `hcl:",def_range"`
}

// proxy is a reverse proxy that signs people in, or that says from where they come.
type proxy struct {
	Header string   `hcl:"header,optional" doc:"header in which the proxy names the person; it must replace what a browser sent"`
	From   []string `hcl:"from" doc:"addresses or networks of the proxy; the header is read from no other"`
	Role   string   `hcl:"role,optional" doc:"role of people without a user block; without it they are refused"`

	Range hcl.Range `hcl:",def_range"`
}

// secretAt is a value that agents of submissions may have.
type secretAt struct {
	Name   string   `hcl:"name,label"`
	From   string   `hcl:"from" doc:"reference of the value: env:NAME, file:PATH or command:LINE"`
	Owners []string `hcl:"owners" doc:"people whose submissions may use it; \"*\" is everyone"`

	Range hcl.Range `hcl:",def_range"`
}

// settings are what a file says, checked.
type settings struct {
	Config
	at     url.URL
	people []person
	// proxies are where Proxy.Header is believed, role is Proxy.Role.
	proxies []netip.Prefix
	role    Role
	options service.Options
}

// userName is the syntax of people's names.
var userName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// read reads and checks the file of a server. Whoever can write it is admin, so it must be
// this user's.
func read(ctx context.Context, path string) (*settings, error) {
	f, err := nolink.Open(filepath.Join(nolink.Folder(filepath.Dir(path)), filepath.Base(path)))
	if err != nil {
		return nil, app.Usagef("read the file of the server: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if why := nolink.Writers(info); why != "" {
		return nil, app.Usagef("%s %s; who writes it decides who is admin: make it yours alone (chmod go-w)", path, why)
	}
	src, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	parsed, found := bounded.Parse(src, path)
	s := &settings{}
	if !found.HasErrors() {
		found = append(found, gohcl.DecodeBody(parsed.Body, nil, &s.Config)...)
	}
	if list := diag.List(found); !list.HasErrors() {
		dir, err := filepath.Abs(filepath.Dir(path)) // submissions have working folders of their own
		if err != nil {
			return nil, err
		}
		s.resolve(dir)
		found = hcl.Diagnostics(s.check(secret.In(ctx, filepath.Dir(path)), path))
	}
	return s, app.Checked(diag.List(found), diag.Sources{path: parsed})
}

// resolve makes relative paths start at the folder of the file.
func (s *settings) resolve(dir string) {
	paths := []*string{&s.On}
	if s.TLS != nil {
		paths = append(paths, &s.TLS.Certificate, &s.TLS.Key)
	}
	if s.Rollouts != nil {
		paths = append(paths, &s.Rollouts.Pipeline)
	}
	for i := range s.Competitions {
		paths = append(paths, &s.Competitions[i])
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for i := range s.Secret {
		if path, ok := strings.CutPrefix(s.Secret[i].From, "file:"); ok && !filepath.IsAbs(path) {
			s.Secret[i].From = "file:" + filepath.Join(dir, path)
		}
	}
}

func (s *settings) check(ctx context.Context, path string) (list diag.List) {
	general := func(summary, format string, args ...any) {
		list = append(list, diag.General(summary, path+": "+format, args...))
	}
	s.Listen = cmp.Or(s.Listen, "127.0.0.1:7431")
	if _, _, err := net.SplitHostPort(s.Listen); err != nil {
		general("Invalid address", "listen = %q is not HOST:PORT, such as \"127.0.0.1:7431\".", s.Listen)
		return list
	}
	if p := s.Proxy; p != nil {
		list = append(list, s.addProxy(p)...)
	}
	local := ui.Loopback(s.Listen)
	if !local && s.TLS == nil && len(s.proxies) == 0 {
		general("No encryption", "listen = %q is open to the network, and tokens pass it. Write tls { certificate, key }, or listen at 127.0.0.1 behind a reverse proxy, or name a proxy elsewhere in proxy { from }.", s.Listen)
		return list
	}
	text := s.URL
	if text == "" && local {
		text = map[bool]string{false: "http://", true: "https://"}[s.TLS != nil] + s.Listen
	}
	var err error
	if s.at, err = runs.PageURL(text); err != nil || text == "" {
		general("Invalid url", "%v. It is the address at which browsers reach the server, such as \"https://lab.example.org/mleflow\".", cmp.Or(err, errors.New("url is missing")))
	}
	for i := range s.Users {
		list = append(list, s.addUser(ctx, &s.Users[i])...)
	}
	if len(s.people) == 0 && s.role == Nobody {
		general("No user", "Nobody can sign in. mleflow serve token prints a token, and the user block that it belongs to.")
	}
	for _, one := range s.Secret {
		for _, owner := range one.Owners {
			if owner != "*" && !s.known(owner) && s.role == Nobody {
				list = append(list, diag.Error(one.Range, "Unknown owner", "There is no user %q.%s", owner, diag.DidYouMean(owner, lists.Of(s.people, func(p person) string { return p.Name }))))
			}
		}
	}
	if s.Runs < 0 || s.Parallelism < 0 {
		general("Invalid number", "runs and parallelism must not be negative.")
	}
	s.pass()
	return list
}

func (s *settings) known(name string) bool {
	return slices.ContainsFunc(s.people, func(p person) bool { return p.Name == name })
}

// tokenText is the syntax of tokens, which are no words.
var tokenText = pattern.New(`^[A-Za-z0-9_~.-]{32,200}$`)

func (s *settings) addUser(ctx context.Context, u *user) diag.List {
	fail := func(summary, format string, args ...any) diag.List {
		return diag.List{diag.Error(u.Range, summary, format, args...)}
	}
	p := person{Name: u.Name, Role: roleOf(u.Role)}
	sum, err := hex.DecodeString(u.SHA256)
	switch {
	case !userName.Regexp().MatchString(u.Name):
		return fail("Invalid name", "A user's name has letters, digits and .-_@+, at most 64, and begins with a letter or digit.")
	case s.known(u.Name):
		return fail("Duplicate user", "There is a user %q already.", u.Name)
	case p.Role == Nobody:
		return fail("Unknown role", "There is no role %q. The roles are: viewer, operator, admin.", u.Role)
	case u.Token != "" && u.SHA256 != "":
		return fail("Two tokens", "User %q has token and token_sha256; write one.", u.Name)
	case u.Token == "" && u.SHA256 == "" && s.Proxy == nil:
		return fail("No token", "User %q cannot sign in; write token_sha256, which mleflow serve token prints.", u.Name)
	case u.SHA256 != "" && (err != nil || len(sum) != sha256.Size):
		return fail("Invalid token_sha256", "It is the SHA-256 of the token: 64 hexadecimal digits. mleflow serve token prints it.")
	case u.SHA256 != "":
		p.sum = [32]byte(sum)
	case u.Token != "":
		ref, err := secret.ParseRef(u.Token)
		if err != nil {
			return fail("Invalid token", "token is %v. A token itself does not belong into the file.", err)
		}
		text, err := ref.Resolve(ctx)
		if err != nil {
			return fail("Invalid token", "The token of user %q cannot be read: %v.", u.Name, err)
		}
		if !tokenText.Regexp().MatchString(text) {
			return fail("Weak token", "The token of user %q is not 32 to 200 letters, digits, hyphens, dots and underscores. mleflow serve token prints one.", u.Name)
		}
		p.sum = sha256.Sum256([]byte(text))
	}
	if slices.ContainsFunc(s.people, func(q person) bool { return p.sum == q.sum && p.sum != [32]byte{} }) {
		return fail("Shared token", "User %q has the token of another user.", u.Name)
	}
	s.people = append(s.people, p)
	return nil
}

func (s *settings) addProxy(p *proxy) (list diag.List) {
	for _, text := range p.From {
		net, err := netip.ParsePrefix(text)
		if ip, bad := netip.ParseAddr(text); bad == nil {
			net, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil || net.Bits() == 0 {
			list = append(list, diag.Error(p.Range, "Invalid address", "from has %q. Write the proxy's address or network, such as \"127.0.0.1\" or \"10.1.0.0/24\"; everybody would be a proxy in a network of all addresses.", text))
			continue
		}
		s.proxies = append(s.proxies, net)
	}
	if s.role = roleOf(p.Role); p.Role != "" && s.role == Nobody {
		list = append(list, diag.Error(p.Range, "Unknown role", "There is no role %q. The roles are: viewer, operator, admin.", p.Role))
	}
	if p.Header == "" && p.Role != "" || strings.EqualFold(p.Header, "Authorization") || strings.EqualFold(p.Header, "Cookie") {
		list = append(list, diag.Error(p.Range, "Invalid header", "Write the name of a header that the proxy sets, such as \"X-Remote-User\"."))
	}
	return list
}

// pass hands on what the service needs.
func (s *settings) pass() {
	s.options = service.Options{
		Runs: s.Runs, Parallelism: s.Parallelism, Owners: map[string]queue.Limits{}, HostCode: s.HostCode, Hosts: s.Hosts,
		Competitions: s.Competitions, On: s.On, RemoteCache: s.RemoteCache, Offline: s.Offline,
	}
	if s.Limits != nil {
		s.options.Limits = *s.Limits
	}
	for _, u := range s.Users {
		if u.Limits != nil {
			s.options.Owners[u.Name] = *u.Limits
		}
	}
	for _, one := range s.Secret {
		s.options.Secrets = append(s.options.Secrets, service.Secret{Name: one.Name, Ref: one.From, Owners: one.Owners})
	}
}
