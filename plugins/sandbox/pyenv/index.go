package pyenv

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

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
	first := func(names ...string) string {
		for _, name := range names {
			if all[name] != "" {
				return all[name]
			}
		}
		return ""
	}
	for to, value := range map[string]string{
		"UV_DEFAULT_INDEX": first("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"),
		"UV_INDEX":         first("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
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
			x.upstream[name], x.upstream["NO_PROXY"] = value, first("NO_PROXY", "no_proxy")
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
	x.certificates = first("SSL_CERT_FILE", "PIP_CERT")
	if x.certificates != "" {
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
