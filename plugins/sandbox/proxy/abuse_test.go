package proxy_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// sayHello returns the ClientHello for a name, perhaps changed.
func sayHello(t *testing.T, name string, change func(*tls.Config)) []byte {
	t.Helper()
	here, there := net.Pipe()
	config := &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // a test
	if change != nil {
		change(config)
	}
	go func() { _ = tls.Client(here, config).Handshake() }()
	buf := make([]byte, 16<<10)
	n, err := there.Read(buf)
	_, _ = here.Close(), there.Close()
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

const connectAPI = "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"

// talk sends texts, one after the other with a reply in between, and returns
// all that came back.
func (w *world) talk(t *testing.T, texts ...string) string {
	t.Helper()
	c, err := net.Dial("tcp", w.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	var all strings.Builder
	r := bufio.NewReader(c)
	for i, text := range texts {
		if _, err := io.WriteString(c, text); err != nil {
			break
		}
		if i < len(texts)-1 {
			line, _ := r.ReadString('\n')
			end, _ := r.ReadString('\n')
			all.WriteString(line + end)
		}
	}
	if len(texts) == 1 {
		for range max(1, strings.Count(texts[0], " HTTP/1.")) {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				break
			}
			body, _ := io.ReadAll(resp.Body)
			all.WriteString(resp.Proto + " " + resp.Status + "\r\n" + string(body))
		}
		return all.String()
	}
	rest, _ := io.ReadAll(r)
	all.Write(rest)
	return all.String()
}

// TestAbuse sends what must not get through. Nothing may reach a server, and
// each attempt is written down.
func TestAbuse(t *testing.T) {
	hello := string(sayHello(t, "api.example.com", nil))
	other := string(sayHello(t, "evil.example.net", nil))
	nameless := string(sayHello(t, "", nil))
	twice := strings.Replace(hello, "api.example.com", "api.example.net", 1)
	plain := func(line, headers string) string {
		return line + " HTTP/1.1\r\nHost: files.example.com\r\n" + headers + "\r\n"
	}
	tests := []struct {
		name  string
		talk  []string
		reply string // what the reply holds
		// reason is what the record holds; empty if the text was no request.
		reason string
	}{
		{"host not listed", []string{strings.ReplaceAll(connectAPI, "api.example.com", "evil.example.net")}, "403", "not on the list"},
		{"port not listed", []string{strings.ReplaceAll(connectAPI, ":443", ":22")}, "403", "not on the list"},
		{"apex of a pattern", []string{"CONNECT wild.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not on the list"},
		{"suffix trick", []string{"CONNECT api.example.com.evil.net:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not on the list"},
		{"host header does not help", []string{"CONNECT evil.net:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"}, "403", "not on the list"},
		{"no port", []string{"CONNECT api.example.com HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "host:port"},
		{"user in CONNECT", []string{"CONNECT u@api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "40", ""},
		{"CONNECT with a path", []string{"CONNECT /api.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", ""},
		{"CONNECT with a body", []string{"CONNECT api.example.com:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"}, "403", "no body"},
		{"decimal address", []string{"CONNECT 2130706433:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not a host name"},
		{"octal address", []string{"CONNECT 0177.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not a host name"},
		{"address of an allowed host", []string{"CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not on the list"},
		{"metadata by address", []string{plain("GET http://169.254.169.254/latest/meta-data/", "")}, "403", "not on the list"},
		{"metadata by mapped address", []string{plain("GET http://[::ffff:169.254.169.254]/", "")}, "403", "not on the list"},
		{"metadata behind an allowed name", []string{plain("GET http://meta.internal/", "")}, "403", "metadata"},
		{"loopback behind an allowed name", []string{plain("GET http://rebound.example.com/", "")}, "403", "not public"},
		{"loopback behind an allowed name, CONNECT", []string{"CONNECT rebound.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not public"},
		{"one private address among public ones", []string{"CONNECT half.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "403", "not public"},
		{"unknown name", []string{"CONNECT nowhere.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n"}, "502", "no such host"},
		{"other server name", []string{connectAPI, other}, "200", "for another server"},
		{"no server name", []string{connectAPI, nameless}, "200", "names no server"},
		{"name of another pattern", []string{"CONNECT a.wild.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", hello}, "200", "for another server"},
		{"server name for an address", []string{"CONNECT 10.9.9.9:443 HTTP/1.1\r\nHost: x\r\n\r\n", hello}, "200", "for another server"},
		{"changed server name", []string{connectAPI, twice}, "200", "for another server"},
		{"no TLS", []string{connectAPI, "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"}, "200", "not the beginning"},
		{"SSH", []string{connectAPI, "SSH-2.0-x\r\n"}, "200", "not the beginning"},
		{"silence", []string{connectAPI, ""}, "200", "not the beginning"},
		{"half a hello", []string{connectAPI, hello[:60]}, "200", "not the beginning"},
		{"endless hello", []string{connectAPI, "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + strings.Repeat("x", 40<<10)}, "200", "not the beginning"},
		{"origin form", []string{plain("GET /", "")}, "403", "whole address"},
		{"asterisk", []string{plain("OPTIONS *", "")}, "", ""},
		{"https in plain", []string{plain("GET https://api.example.com/", "")}, "403", "CONNECT"},
		{"ftp", []string{plain("GET ftp://files.example.com/", "")}, "403", "CONNECT"},
		{"user in the address", []string{plain("GET http://files.example.com@evil.net/", "")}, "403", "user"},
		{"user before an allowed host", []string{plain("GET http://evil.net@files.example.com/", "")}, "403", "user"},
		{"backslash", []string{plain(`GET http://evil.net\@files.example.com/`, "")}, "400", ""},
		{"fragment", []string{plain("GET http://evil.net#.files.example.com/", "")}, "40", ""},
		{"percent in the host", []string{plain("GET http://files.example.com%2eevil.net/", "")}, "40", ""},
		{"TRACE", []string{plain("TRACE http://files.example.com/", "")}, "403", "method"},
		{"upgrade", []string{plain("GET http://files.example.com/", "Connection: Upgrade\r\nUpgrade: websocket\r\n")}, "403", "upgraded"},
		{"two hosts", []string{plain("GET http://files.example.com/", "Host: evil.net\r\n")}, "400", ""},
		{"two lengths", []string{plain("POST http://files.example.com/", "Content-Length: 1\r\nContent-Length: 2\r\n") + "ab"}, "400", ""},
		{"strange coding", []string{plain("POST http://files.example.com/", "Transfer-Encoding: xchunked\r\n") + "ab"}, "501", ""},
		{"space before the colon", []string{plain("GET http://files.example.com/", "X-A : b\r\n")}, "400", ""},
		{"header with a NUL", []string{plain("GET http://files.example.com/", "X-A: b\x00c\r\n")}, "400", ""},
		{"long header", []string{plain("GET http://files.example.com/", "X-A: "+strings.Repeat("a", 64<<10)+"\r\n")}, "431", ""},
		{"HTTP/2", []string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}, "", ""},
		{"SOCKS", []string{"\x05\x01\x00"}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			reply := w.talk(t, tt.talk...)
			conns := w.end(t)
			if !strings.Contains(strings.SplitN(reply, "\r\n", 2)[0], tt.reply) || strings.Contains(reply, "hello") {
				t.Errorf("reply %q", reply)
			}
			if len(w.got) > 0 {
				t.Errorf("a server got %q", w.got)
			}
			if tt.reason == "" {
				return
			}
			if len(conns) != 1 || conns[0].Verdict == proxy.Allowed || !strings.Contains(conns[0].Reason, tt.reason) {
				t.Errorf("written down: %+v", conns)
			}
			for _, name := range w.looked {
				if _, listed := names[strings.TrimSuffix(name, ".")]; !listed && !strings.HasPrefix(name, "nowhere") {
					t.Errorf("looked up %q, which is not on the list", name)
				}
			}
		})
	}
	if len(tests) < 30 {
		t.Errorf("only %d cases", len(tests))
	}
}
