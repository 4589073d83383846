package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// asks makes a probe that sends requests to the proxy; none may be answered
// with success.
func asks(name, tried string, texts func(allowed, forbidden, port string) []string) probe {
	return probe{name, tried, func(h *hunter) (string, bool) {
		forbidden := os.Getenv("AIM_FORBIDDEN")
		_, port, _ := net.SplitHostPort(forbidden)
		answers, err := h.all(texts(os.Getenv("AIM_ALLOWED"), forbidden, port))
		if err != nil {
			return "no proxy: " + short(err), false
		}
		var got []string
		open := false
		for _, answer := range answers {
			s := status(answer)
			open = open || strings.HasPrefix(s, "2")
			got = append(got, s)
		}
		return strings.Join(got, "; "), open
	}}
}

func get(url, host string) string {
	return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
}

func connect(place string) string {
	return "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n\r\nGET / HTTP/1.0\r\n\r\n"
}

func proxyProbes() []probe {
	return []probe{
		{"proxy, allowed place", "the allowed server answers, so refusals below are refusals and not failures", func(h *hunter) (string, bool) {
			allowed := os.Getenv("AIM_ALLOWED")
			answer, err := h.through(get("http://"+allowed+"/", allowed))
			tunnel := handshake(h, "localhost")
			return fmt.Sprintf("plain: %s %s; TLS: %s", status(answer), short(err), tunnel), false
		}},
		asks("proxy, other places", "a forbidden server by GET and CONNECT", func(_, forbidden, _ string) []string {
			return []string{get("http://"+forbidden+"/", forbidden), connect(forbidden), get("http://example.com/", "example.com"), connect("example.com:443")}
		}),
		asks("proxy, other ports", "another port of an allowed host", func(allowed, _, port string) []string {
			host, _, _ := net.SplitHostPort(allowed)
			return []string{get("http://"+host+":"+port+"/", host), connect(host + ":" + port), connect(host + ":22")}
		}),
		asks("proxy, loopback of the host", "127.0.0.1 in seven notations", func(_, _, port string) []string {
			var list []string
			for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "127.1", "localhost."} {
				list = append(list, get("http://"+host+":"+port+"/", host), connect(host+":"+port))
			}
			return list
		}),
		asks("proxy, metadata", "metadata addresses through the proxy", func(string, string, string) []string {
			var list []string
			for _, a := range append(metadata, "metadata.google.internal:80") {
				list = append(list, get("http://"+a+"/latest/meta-data/", a), connect(a))
			}
			return list
		}),
		{"proxy, other server name", "a TLS session to an allowed host that asks for another name, or none", func(h *hunter) (string, bool) {
			other, none := handshake(h, "other.example"), handshake(h, "")
			return fmt.Sprintf("other: %s; none: %s", other, none), other == "done" || none == "done"
		}},
		asks("proxy, no TLS in the tunnel", "plain HTTP and SSH after CONNECT to an allowed place", func(string, string, string) []string {
			place := os.Getenv("AIM_ALLOWED_TLS")
			return []string{
				"CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n\r\nGET /plain HTTP/1.1\r\nHost: other.example\r\n\r\n",
			}
		}).answered(),
		{"proxy, smuggling", "a second request hidden in the first: two lengths, chunks, pipelining", smuggle},
		asks("proxy, Host of another", "an allowed address with the Host header of a forbidden one, and vice versa", func(allowed, forbidden, _ string) []string {
			return []string{get("http://"+forbidden+"/", allowed), "GET / HTTP/1.1\r\nHost: " + forbidden + "\r\n\r\n"}
		}),
		asks("proxy, tricks with URLs", "user parts, fragments, line ends, other schemes, upgrade", func(allowed, forbidden, _ string) []string {
			return []string{
				get("http://"+allowed+"@"+forbidden+"/", allowed), get("http://"+forbidden+"#@"+allowed+"/", allowed), get("file:///etc/passwd", allowed), get("ftp://"+forbidden+"/", allowed),
				get("http://"+allowed+"%2f@"+forbidden+"/", allowed), "GET http://" + allowed + "%0d%0aHost:x/ HTTP/1.1\r\nHost: x\r\n\r\n", get("unix:///run/containerd/containerd.sock", "x"), connect("unix:/run/containerd/containerd.sock"), "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
			}
		}),
		asks("proxy, error texts", "nonsense of all kinds, to see what the proxy's errors disclose", func(string, string, string) []string {
			return []string{"\x16\x03\x01", strings.Repeat("A", 1<<17), "GET\r\n\r\n", "GET http://[::1 HTTP/1.1\r\n\r\n", "CONNECT : HTTP/1.1\r\n\r\n", get("http://"+strings.Repeat("a.", 2000)+"/", "x"), "GET /debug/pprof/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1:3128\r\n\r\n"}
		}),
		asks("proxy, itself", "the proxy and the validity server through the proxy", func(string, string, string) []string {
			return []string{connect("127.0.0.1:3128"), connect("127.0.0.1:5000"), get("http://127.0.0.1:3128/", "x")}
		}),
	}
}

// answered judges by canaries alone: CONNECT to an allowed place succeeds, and
// what follows must not reach the server.
func (p probe) answered() probe {
	run := p.run
	p.run = func(h *hunter) (string, bool) {
		got, _ := run(h)
		return got, false
	}
	return p
}

// handshake opens a tunnel to the allowed server and a TLS session that asks for
// the name.
func handshake(h *hunter, name string) string {
	place := os.Getenv("AIM_ALLOWED_TLS")
	c, err := net.DialTimeout("tcp", "127.0.0.1:3128", time.Second)
	if err != nil {
		return "no proxy: " + short(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", place, place)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || r.StatusCode != http.StatusOK {
		return "CONNECT refused"
	}
	s := tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err := s.Handshake(); err != nil {
		return short(err)
	}
	_, _ = io.WriteString(s, "GET / HTTP/1.0\r\n\r\n")
	data, _ := io.ReadAll(s)
	h.look("TLS to "+place+" as "+name, data)
	return "done"
}

func smuggle(h *hunter) (string, bool) {
	allowed, forbidden := os.Getenv("AIM_ALLOWED"), os.Getenv("AIM_FORBIDDEN")
	hidden := "GET http://" + forbidden + "/smuggled HTTP/1.1\r\nHost: " + forbidden + "\r\n\r\n"
	inner := "GET /smuggled HTTP/1.1\r\nHost: " + allowed + "\r\n\r\n"
	answers, err := h.all([]string{
		"GET http://" + allowed + "/ HTTP/1.1\r\nHost: " + allowed + "\r\n\r\n" + hidden,
		"POST http://" + allowed + "/ HTTP/1.1\r\nHost: " + allowed + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
		"POST http://" + allowed + "/ HTTP/1.1\r\nHost: " + allowed + "\r\nContent-Length: 0\r\nContent-Length: " + fmt.Sprint(len(inner)) + "\r\n\r\n" + inner,
		"POST http://" + allowed + "/ HTTP/1.1\r\nHost: " + allowed + "\r\nTransfer-Encoding: xchunked\r\n\r\n" + inner,
		"GET http://" + allowed + "/ HTTP/1.1\r\nHost: " + allowed + "\r\nX: a\nGET /smuggled HTTP/1.1\r\n\r\n",
		"GET http://" + allowed + "/ HTTP/1.1\r\nHost: " + allowed + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + inner,
	})
	if err != nil {
		return "no proxy: " + short(err), false
	}
	var got []string
	for _, answer := range answers {
		got = append(got, fmt.Sprintf("%s (%d answers)", status(answer), strings.Count(answer, "HTTP/1.")))
	}
	return strings.Join(got, "; "), false
}
