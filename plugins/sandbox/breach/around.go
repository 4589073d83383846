package breach

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Variable names additional addresses that no agent may reach, as host:port separated
// by commas.
const Variable = "MLEFLOW_FORBIDDEN"

// Machine describes the surroundings of a sandbox.
type Machine struct {
	// Env is the environment of this process, as NAME=VALUE.
	Env []string
	// Remote is the server of the remote cache, as host:port; "" if there is none.
	Remote string
	// Dir is the folder for the trap file.
	Dir string
	// Resolver is the file that names the name servers; "" is the system's.
	Resolver string
}

// Descriptions of addresses.
const (
	aMetadata   = "a metadata service"
	aNameServer = "a name server"
)

// metadata lists the addresses at which clouds serve credentials.
var metadata = []string{
	"169.254.169.254:80", "[fd00:ec2::254]:80", // AWS, Azure, Google Cloud and most others
	"169.254.170.2:80", "169.254.170.23:80", "[fd00:ec2::23]:80", // AWS: tasks and pods
	"100.100.100.200:80", // Alibaba Cloud
	"192.0.0.192:80",     // Oracle Cloud
}

// secretFiles contain credentials, as do the files that fileVariables name and, below
// the home folder, homeFiles.
var (
	secretFiles = []string{
		"/var/run/secrets/kubernetes.io/serviceaccount/token", "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
		"/var/run/secrets/azure/tokens/azure-identity-token", "/var/run/secrets/tokens/gcp-ksa/token",
	}
	fileVariables = []string{
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"GOOGLE_APPLICATION_CREDENTIALS", "AZURE_FEDERATED_TOKEN_FILE", "KUBECONFIG",
	}
	homeFiles = []string{
		".aws/credentials", ".aws/config", ".kube/config", ".config/gcloud/application_default_credentials.json",
		".kaggle/kaggle.json", ".kaggle/access_token", ".kaggle/credentials.json", ".docker/config.json", ".netrc", ".mleflow/worker.env",
	}
)

// secretWords are parts of the names of variables whose values are secret or lead to
// secrets.
var secretWords = []string{"SECRET", "TOKEN", "PASSWORD", "CREDENTIAL", "KEY", "AWS_", "AZURE_", "GOOGLE_", "KAGGLE_", "MLEFLOW_REMOTE_CACHE"}

// Around lists everything that is forbidden here and sets the traps, which exist until
// closeAll is called.
func Around(ctx context.Context, m Machine) (t *Targets, closeAll func() error, err error) {
	t = &Targets{Variables: map[string]string{}, Key: []byte(rand.Text())}
	env := map[string]string{}
	for _, v := range m.Env {
		name, value, _ := strings.Cut(v, "=")
		if env[name] = value; isSecret(name) && value != "" {
			t.Variables[t.hash([]byte(v))] = name
		}
	}
	t.addresses(ctx, m, env)
	t.files(env)
	var traps []func() error
	closeAll = func() (err error) {
		for _, remove := range traps {
			err = errors.Join(err, remove())
		}
		return err
	}
	for _, set := range []func(string) (remove func() error, err error){t.netTrap, t.socketTrap, t.fileTrap} {
		remove, err := set(m.Dir)
		if remove != nil {
			traps = append(traps, remove)
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("set a trap for what is in the sandbox: %w", err), closeAll())
		}
	}
	return t, closeAll, nil
}

func isSecret(name string) bool {
	return slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(strings.ToUpper(name), w) })
}

func (t *Targets) add(what, network, address string, open bool) {
	t.Addresses = append(t.Addresses, Address{what, network, address, open})
}

func (t *Targets) addresses(ctx context.Context, m Machine, env map[string]string) {
	for _, a := range metadata {
		t.add(aMetadata, "tcp", a, true)
	}
	if host := env["KUBERNETES_SERVICE_HOST"]; host != "" {
		port := cmp.Or(env["KUBERNETES_SERVICE_PORT"], "443")
		t.add("the API server", "tcp", net.JoinHostPort(host, port), true)
	}
	for _, a := range strings.FieldsFunc(env[Variable], func(r rune) bool { return r == ',' || r == ' ' }) {
		t.resolved(ctx, "an address of "+Variable, a, true)
	}
	for _, server := range nameServers(m.Resolver) {
		t.add(aNameServer, "udp", net.JoinHostPort(server, "53"), false)
		t.add(aNameServer, "tcp", net.JoinHostPort(server, "53"), false)
	}
	if m.Remote != "" {
		t.resolved(ctx, "the remote cache", m.Remote, false)
	}
}

// resolved adds a server under its IP addresses too, because a sandbox may be unable to
// resolve names.
func (t *Targets) resolved(ctx context.Context, what, address string, open bool) {
	t.add(what, "tcp", address, open)
	host, port, err := net.SplitHostPort(address)
	if err != nil || net.ParseIP(host) != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	list, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return // so nobody here can reach it
	}
	for _, ip := range list {
		t.add(what, "tcp", net.JoinHostPort(ip, port), open)
	}
}

// nameServers returns the name servers of this machine.
func nameServers(file string) (list []string) {
	file = cmp.Or(file, "/etc/resolv.conf")
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			list = append(list, f[1])
		}
	}
	return list
}

// files adds the files with credentials that exist here.
func (t *Targets) files(env map[string]string) {
	paths := append([]string{}, secretFiles...)
	for _, name := range homeFiles {
		paths = append(paths, filepath.Join(env["HOME"], name))
	}
	for _, name := range fileVariables {
		paths = append(paths, env[name])
	}
	for _, path := range paths {
		if content, err := readStart(path); err == nil && len(content) > 0 {
			t.Files = append(t.Files, File{Path: []byte(path), Hash: t.hash(content)})
		}
	}
}

// readStart reads at most the first 64 KiB of a regular file.
func readStart(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !strings.HasPrefix(path, "/proc/") {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// netTrap listens on all addresses of this machine.
func (t *Targets) netTrap(string) (remove func() error, err error) {
	l, err := listen("tcp", ":0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	hosts := []string{"127.0.0.1", "::1"}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	for _, host := range hosts {
		t.add("a server of the worker", "tcp", net.JoinHostPort(host, port), false)
	}
	return l.Close, nil
}

// socketTrap listens on an abstract socket, which has no file.
func (t *Targets) socketTrap(string) (remove func() error, err error) {
	name := "@mleflow-trap-" + rand.Text()
	l, err := listen("unix", name)
	if err != nil {
		return nil, err
	}
	t.add("a socket of the worker", "unix", name, false)
	return l.Close, nil
}

// listen listens, and closes each connection at once.
func listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	return l, nil
}

// fileTrap writes a file that every user of this machine can read.
func (t *Targets) fileTrap(dir string) (remove func() error, err error) {
	f, err := os.CreateTemp(dir, "trap-")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := []byte(rand.Text())
	t.Files = append(t.Files, File{Path: []byte(f.Name()), Hash: t.hash(content)})
	_, err = f.Write(content)
	return func() error { return os.Remove(f.Name()) }, errors.Join(err, f.Chmod(0o644))
}
