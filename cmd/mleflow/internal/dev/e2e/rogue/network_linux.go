package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// own are the ports that mleflow serves: they have probes of their own.
var own = []string{"5000", "3128"}

// greet says hello in HTTP on a connection and searches the answer.
func (h *hunter) greet(where string, c net.Conn) int {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
	data, _ := io.ReadAll(io.LimitReader(c, 1<<20))
	return len(h.look(where, data))
}

// direct connects to an address without any proxy.
func (h *hunter) direct(network, address string) error {
	c, err := net.DialTimeout(network, address, 700*time.Millisecond)
	if err != nil {
		return err
	}
	h.greet(address, c)
	return nil
}

func (h *hunter) directs(addresses ...string) (string, bool) {
	var got []string
	open := false
	for _, a := range addresses {
		err := h.direct("tcp", a)
		open = open || err == nil
		got = append(got, a+": "+short(err))
	}
	return strings.Join(got, "; "), open
}

func short(err error) string {
	if err == nil {
		return "done"
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1:]
}

var metadata = []string{"169.254.169.254:80", "169.254.170.2:80", "100.100.100.200:80", "168.63.129.16:80", "192.0.0.192:80", "[fd00:ec2::254]:80", "[fe80::1%lo]:80"}

func networkProbes() []probe {
	return []probe{
		{"interfaces", "network interfaces and routes besides loopback", func(h *hunter) (string, bool) {
			list, err := net.Interfaces()
			var names []string
			for _, i := range list {
				names = append(names, i.Name)
			}
			h.dig("/proc/net")
			// Some kernels make tunnels' fall-back devices in every namespace; they are down.
			up := slices.ContainsFunc(list, func(i net.Interface) bool { return i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 })
			return fmt.Sprint(names, errno(err)), up
		}},
		{"ports on loopback", "connect to all 65,535 ports of 127.0.0.1", loopbackPorts},
		{"host by address", "servers of the host at its addresses", func(h *hunter) (string, bool) {
			return h.directs(os.Getenv("AIM_FORBIDDEN"), os.Getenv("AIM_ALLOWED"), "192.0.2.1:22", "10.0.0.1:80", "172.17.0.1:80")
		}},
		{"internet", "well-known servers", func(h *hunter) (string, bool) {
			return h.directs("1.1.1.1:443", "8.8.8.8:53", "[2606:4700:4700::1111]:443")
		}},
		{"metadata addresses", "addresses where clouds serve secrets", func(h *hunter) (string, bool) { return h.directs(metadata...) }},
		{"names", "look up names with the system's resolver", func(*hunter) (string, bool) {
			var got []string
			open := false
			for _, name := range []string{"example.com", "metadata.google.internal", "host.docker.internal", "registry-1.docker.io"} {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				list, err := net.DefaultResolver.LookupHost(ctx, name)
				cancel()
				open = open || err == nil
				got = append(got, fmt.Sprint(name, ": ", list, short(err)))
			}
			return strings.Join(got, "; "), open
		}},
		{"name servers", "query name servers over UDP and TCP", func(*hunter) (string, bool) {
			var got []string
			open := false
			for _, server := range []string{"8.8.8.8:53", "1.1.1.1:53", "127.0.0.53:53", "127.0.0.11:53", "224.0.0.251:5353"} {
				err := ask(server)
				open = open || err == nil
				got = append(got, server+": "+short(err))
			}
			return strings.Join(got, "; "), open
		}},
		{"abstract sockets", "abstract sockets in the host's network namespace", abstractSockets},
		{"socket files", "sockets in the file system, such as containerd's and docker's", socketFiles},
		{"broadcast", "UDP to broadcast and multicast addresses", func(*hunter) (string, bool) {
			c, err := net.Dial("udp", "255.255.255.255:9")
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			return short(err), err == nil
		}},
	}
}

func loopbackPorts(h *hunter) (string, bool) {
	var mu sync.Mutex
	var found []string
	var wg sync.WaitGroup
	next := make(chan int)
	for range 64 {
		wg.Go(func() {
			for port := range next {
				c, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(port), 500*time.Millisecond)
				if err != nil {
					continue
				}
				mu.Lock()
				found = append(found, strconv.Itoa(port))
				mu.Unlock()
				h.greet(fmt.Sprint("port ", port), c)
			}
		})
	}
	_, aim, _ := net.SplitHostPort(os.Getenv("AIM_FORBIDDEN"))
	for port := 1; port < 1<<16; port++ {
		if !polite() || strconv.Itoa(port) == aim {
			next <- port
		}
	}
	close(next)
	wg.Wait()
	slices.Sort(found)
	others := slices.DeleteFunc(slices.Clone(found), func(p string) bool { return slices.Contains(own, p) })
	return "open: " + strings.Join(found, " "), len(others) > 0
}

// ask sends a question for example.com.
func ask(server string) error {
	c, err := net.DialTimeout("udp", server, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	q := binary.BigEndian.AppendUint16(nil, 7)
	q = append(q, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7)
	q = append(append(q, "example"...), 3)
	q = append(append(q, "com"...), 0, 0, 1, 0, 1)
	_ = c.SetDeadline(time.Now().Add(700 * time.Millisecond))
	if _, err := c.Write(q); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 512))
	return err
}

// polite says that the network is the host's, for contrast: others' servers are
// counted and left alone.
func polite() bool { return os.Getenv("AIM_ANSWERS") != "" }

func abstractSockets(h *hunter) (string, bool) {
	data, _ := h.read("/proc/net/unix")
	total, reached := 0, 0
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 8 || !strings.HasPrefix(f[7], "@") {
			continue
		}
		total++
		if polite() && !strings.HasPrefix(f[7], "@mleflow-") {
			continue
		}
		if h.direct("unix", f[7]) == nil {
			reached++
		}
	}
	return fmt.Sprintf("%d seen, %d reached", total, reached), total > 0
}

func socketFiles(h *hunter) (string, bool) {
	var found []string
	_ = filepath.WalkDir("/", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "/proc" || path == "/sys" {
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.Type()&fs.ModeSocket != 0 {
			found = append(found, path)
			_ = h.direct("unix", path)
		}
		return nil
	})
	places := append(filepath.SplitList(os.Getenv("AIM_SOCKETS")), "/run/containerd/containerd.sock", "/var/run/docker.sock", "/run/systemd/private", "/run/dbus/system_bus_socket")
	open := len(found) > 0
	for _, place := range places {
		open = open || h.direct("unix", place) == nil
	}
	return fmt.Sprintf("%d found %s; %d places tried", len(found), strings.Join(found, " "), len(places)), open
}

// through sends bytes to the proxy and returns what comes back.
func (h *hunter) through(text string) (string, error) {
	c, err := net.DialTimeout("tcp", "127.0.0.1:3128", time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	data, _ := io.ReadAll(io.LimitReader(c, 1<<20))
	return string(h.look("proxy: "+clip(text), data)), nil
}

// all sends each text on a connection of its own, at the same time.
func (h *hunter) all(texts []string) (answers []string, err error) {
	answers = make([]string, len(texts))
	errs := make([]error, len(texts))
	var sent sync.WaitGroup
	for i, text := range texts {
		sent.Go(func() { answers[i], errs[i] = h.through(text) })
	}
	sent.Wait()
	return answers, errors.Join(errs...)
}

// status returns the first line of an answer.
func status(text string) string {
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		return "no answer"
	}
	return r.Status
}
