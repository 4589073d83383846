package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

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
