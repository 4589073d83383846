package service_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

// serve serves a handler that reads the body of each request. It returns the address, and the
// errors of bodies.
func serve(t *testing.T, limits service.Limits) (address string, ends chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ends = make(chan error, 100)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/deaf":
			http.Error(w, "no", http.StatusUnauthorized)
		case "/endless":
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 1<<20))
			}
			ends <- err
		case "/long":
			n, err := io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(limits.Body * 5 / 4): // longer than a body may stall
			case <-r.Context().Done():
				err = r.Context().Err()
			}
			fmt.Fprint(w, n, err)
		default:
			n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1<<20))
			ends <- err
			fmt.Fprint(w, n)
		}
	})
	go func() { served <- service.Serve(ctx, l, h, limits) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), ends
}

// short are limits that every attack reaches soon.
var short = service.Limits{Connections: 20, Header: 200 * time.Millisecond, HeaderBytes: 4 << 10, Body: 200 * time.Millisecond, Idle: 200 * time.Millisecond, Write: 200 * time.Millisecond}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil {
		_, err = io.WriteString(c, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

const post = "POST %s HTTP/1.1\r\nHost: x\r\n"

// TestSlow sends bodies that stall, come byte by byte or never end, and reads no answer. The
// server ends each connection.
func TestSlow(t *testing.T) {
	address, ends := serve(t, short)
	trickle := func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "1\r\nx\r\n"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond) // a slow client
		}
	}
	flood := func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "1000\r\n"+strings.Repeat("x", 0x1000)+"\r\n"); err != nil {
				return
			}
		}
	}
	var tooLarge *http.MaxBytesError
	for _, tt := range []struct {
		name, text string
		more       func(net.Conn)
		wrong      func(error) bool
	}{
		{"no body", fmt.Sprintf(post, "/") + "Content-Length: 9\r\n\r\n", nil, func(err error) bool { return !errors.Is(err, service.ErrSlow) }},
		{"half a body", fmt.Sprintf(post, "/") + "Content-Length: 9\r\n\r\nabc", nil, func(err error) bool { return !errors.Is(err, service.ErrSlow) }},
		{"a byte at a time", fmt.Sprintf(post, "/") + "Transfer-Encoding: chunked\r\n\r\n", trickle, func(err error) bool { return !errors.Is(err, service.ErrSlow) }},
		{"without end", fmt.Sprintf(post, "/") + "Transfer-Encoding: chunked\r\n\r\n", flood, func(err error) bool { return !errors.As(err, &tooLarge) }},
		{"an answer that nobody reads", "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n", nil, func(err error) bool { return err == nil }},
	} {
		c := dial(t, address, tt.text)
		if tt.more != nil {
			go tt.more(c)
		}
		select {
		case err := <-ends:
			if tt.wrong(err) {
				t.Errorf("%s: the body ended with %v", tt.name, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the handler waits forever", tt.name)
		}
	}
	long := short
	long.Body = 10 * time.Minute // longer than the test
	address, _ = serve(t, long)
	c := dial(t, address, fmt.Sprintf(post, "/deaf")+"Content-Length: 9\r\n\r\n")
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	text, err := io.ReadAll(c) // until the server closes the connection
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401") {
		t.Errorf("a handler that reads no body: %q, %v", text, err)
	}
}

// TestCrowd opens many times as many connections as there may be, each of which sends half a
// header. Another client gets its answer.
func TestCrowd(t *testing.T) {
	address, _ := serve(t, short)
	for range 15 * short.Connections {
		dial(t, address, "GET / HTTP/1.1\r\nHost")
	}
	client := http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post("http://"+address, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); string(text) != "5" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPatient sends a body whose parts come in time, although it takes longer than a stall may
// last; waits for an answer longer than that; and uses the connection again.
func TestPatient(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 13 seconds")
	}
	limits := short
	limits.Body, limits.Idle = 8*time.Second, time.Minute
	address, ends := serve(t, limits)
	c := dial(t, address, fmt.Sprintf(post, "/long")+"Content-Length: 3\r\n\r\n")
	in := bufio.NewReader(c)
	for range 3 {
		time.Sleep(limits.Body / 8) // a slow client
		_, _ = io.WriteString(c, "x")
	}
	for i, want := range []string{"3 <nil>", "5"} {
		if i > 0 {
			_, _ = io.WriteString(c, fmt.Sprintf(post, "/")+"Content-Length: 5\r\n\r\nhello")
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if string(text) != want || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	}
	if err := <-ends; err != nil {
		t.Error(err)
	}
}

// TestEnd lets a request in progress end when the server ends.
func TestEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var begun atomic.Bool
	limits := short
	limits.End = time.Minute
	served := make(chan error, 1)
	go func() {
		served <- service.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begun.Store(true)
			<-ctx.Done()
			fmt.Fprint(w, "done")
		}), limits)
	}()
	go func() {
		for !begun.Load() {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
	res, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); string(text) != "done" {
		t.Errorf("%q, %v", text, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
