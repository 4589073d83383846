package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Policy is a list of places. The zero value allows none.
type Policy struct{ places []place }

// place is one entry of the list.
type place struct {
	// host is a name in lower case; with below, it stands for every name below it.
	host  string
	below bool
	// addr is set if the place is an address.
	addr netip.Addr
	port uint16
	// private means that the name may resolve to private addresses.
	private bool
}

// ParsePolicy parses a list of "host:port" strings; see the package comment.
func ParsePolicy(allow []string) (*Policy, error) {
	p := &Policy{}
	for _, text := range allow {
		one, err := parsePlace(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		p.places = append(p.places, one)
	}
	return p, nil
}

// PolicyOf parses the list of a block network, in which open allows everything; nil is none.
func PolicyOf(allow []string, open bool) (*Policy, error) {
	switch {
	case len(allow) == 0:
		return nil, nil
	case open:
		return nil, errors.New("open allows everything; remove open or allow")
	}
	policy, err := ParsePolicy(allow)
	if err != nil {
		return nil, fmt.Errorf("allow holds %w", err)
	}
	return policy, nil
}

// Trust adds a list whose names may have private addresses, since neither the guest nor
// content chose them.
func (p *Policy) Trust(allow []string) error {
	more, err := ParsePolicy(allow)
	if err != nil {
		return err
	}
	for i := range more.places {
		more.places[i].private = true
	}
	p.places = append(more.places, p.places...)
	return nil
}

func parsePlace(text string) (place, error) {
	host, port, err := splitHostPort(text)
	if err != nil {
		return place{}, errors.New("write \"host:port\", such as \"api.openai.com:443\"")
	}
	p := place{port: port}
	if addr, err := netip.ParseAddr(host); err == nil {
		if p.addr = addr.Unmap(); addr.Zone() != "" || never(p.addr) {
			return place{}, fmt.Errorf("this address is never reached from an agent")
		}
		return p, nil
	}
	p.host, p.below = strings.CutPrefix(host, "*.")
	if p.host, err = canonical(p.host); err != nil {
		return place{}, err
	}
	if p.below && !strings.Contains(p.host, ".") {
		return place{}, fmt.Errorf("that is too much of the network; write at least \"*.example.com:443\", or open the network and say so")
	}
	p.private = PrivateName(p.host)
	return p, nil
}

// splitHostPort is net.SplitHostPort for ports that are numbers from 1 on.
func splitHostPort(text string) (host string, port uint16, err error) {
	host, number, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 || number[0] == '+' || host == "" {
		return "", 0, fmt.Errorf("no host, or a port that is not a number from 1 to 65535")
	}
	return host, uint16(n), nil
}

// canonical returns a host name in lower case without its final dot. It rejects names
// that resolvers read as addresses in other notations.
func canonical(host string) (string, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || len(name) > 253 {
		return "", fmt.Errorf("not a name of a host")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("not a name of a host")
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return "", fmt.Errorf("not a host name, and not an address in its usual notation")
	}
	return name, nil
}

// PrivateName reports whether a name belongs to private networks by its form.
func PrivateName(name string) bool {
	private := []string{".localhost", ".local", ".lan", ".internal", ".intranet", ".corp", ".home.arpa"}
	return !strings.Contains(name, ".") || slices.ContainsFunc(private, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// find returns the place that allows the host and port.
func (p *Policy) find(host string, port uint16) (place, bool) {
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	if !isAddr {
		if host, err = canonical(host); err != nil {
			return place{}, false
		}
	}
	for _, one := range p.places {
		switch {
		case one.port != port:
		case one.addr.IsValid():
			if isAddr && one.addr == addr.Unmap() {
				return one, true
			}
		case isAddr:
		case one.host == host && !one.below, one.below && strings.HasSuffix(host, "."+one.host):
			return one, true
		}
	}
	return place{}, false
}

// neverNets are link-local networks and the addresses at which clouds serve a machine's
// credentials.
var neverNets = prefixes("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "fd20:ce::254/128",
	"100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
	"0.0.0.0/8", "::/128", "224.0.0.0/4", "ff00::/8", "255.255.255.255/32")

// innerNets are addresses that are not public. They include addresses that contain an
// IPv4 address, to which another machine would translate them.
var innerNets = prefixes("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7",
	"192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32", "2002::/16", "fec0::/10")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

func within(addr netip.Addr, nets []netip.Prefix) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// never reports whether an address is refused regardless of the list.
func never(addr netip.Addr) bool { return within(addr.Unmap(), neverNets) }

// inner reports whether an address is not public or belongs to this machine.
func inner(addr netip.Addr, own []netip.Addr) bool {
	addr = addr.Unmap()
	return slices.Contains(own, addr) || within(addr, innerNets)
}

// judge returns the objection to an address of a place, or "".
func (p place) judge(addr netip.Addr, own []netip.Addr) string {
	switch {
	case addr.Zone() != "" || never(addr):
		return "its address is link-local, belongs to a metadata service, or is not a host's address"
	case p.addr.IsValid() || p.private:
		return ""
	case inner(addr, own):
		return "its address is not public"
	}
	return ""
}

// refused is an error about something that the policy does not allow.
type refused struct{ text string }

// Error implements error.
func (e refused) Error() string { return e.text }

// addresses is the maximum number of addresses of a name that are tried.
const addresses = 4

// open connects to an allowed place that was requested as host.
func (p *Proxy) open(ctx context.Context, one place, host string) (net.Conn, error) {
	list, err := p.resolve(ctx, one, host)
	if err != nil {
		return nil, err
	}
	var all error
	for _, addr := range list[:min(len(list), addresses)] {
		attempt, cancel := context.WithTimeout(ctx, p.opts.DialTimeout)
		c, err := p.opts.Dial(attempt, "tcp", netip.AddrPortFrom(addr, one.port).String())
		cancel()
		if err == nil {
			return c, nil
		}
		all = errors.Join(all, err)
	}
	return nil, fmt.Errorf("connect: %w", all)
}

// resolve returns the addresses of an allowed place. It judges all of them.
func (p *Proxy) resolve(ctx context.Context, one place, host string) ([]netip.Addr, error) {
	list := []netip.Addr{one.addr}
	if !one.addr.IsValid() {
		name, err := canonical(host)
		if err != nil {
			return nil, refused{err.Error()}
		}
		lookup, cancel := context.WithTimeout(ctx, p.opts.DialTimeout)
		defer cancel()
		if list, err = p.opts.Lookup(lookup, "ip", question(name)); err != nil {
			return nil, fmt.Errorf("look up %s: %w", name, err)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("look up %s: no address", host)
	}
	own := p.opts.Own()
	for i, addr := range list {
		list[i] = addr.Unmap()
		if why := one.judge(list[i], own); why != "" {
			return nil, refused{host + ":" + strconv.Itoa(int(one.port)) + ": " + why}
		}
	}
	return list, nil
}

// question returns the query for a name. The final dot prevents the resolver from
// trying search domains. Names of one word exist only in /etc/hosts or in a search
// domain, so they do not get the dot.
func question(name string) string {
	if strings.Contains(name, ".") {
		return name + "."
	}
	return name
}

// ownAddresses returns the addresses of this machine.
func ownAddresses() []netip.Addr {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, n := range nets {
		if prefix, err := netip.ParsePrefix(n.String()); err == nil {
			out = append(out, prefix.Addr().Unmap())
		}
	}
	return out
}
