package executortest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// hello answers every request with the same text.
func hello(text string) func(context.Context, net.Listener) error {
	return func(_ context.Context, l net.Listener) error {
		return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text)
		}))
	}
}

func testServices(t *testing.T, b bench) {
	spec := b.spec("fetch", "ONE", "TWO")
	spec.Services = []executor.Service{
		{Name: "one", Port: 5000, Env: map[string]string{"ONE": executor.Address}, Serve: hello("first")},
		{Name: "two", Env: map[string]string{"TWO": executor.Address}, Serve: hello("second")},
	}
	exit, out := b.run(t, spec)
	lines := strings.Split(out, "\n")
	if !exit.OK() || len(lines) != 3 || !strings.HasSuffix(lines[0], " first") || !strings.HasSuffix(lines[1], " second") {
		t.Fatalf("got %+v and %q", exit, out)
	}
	if b.Runtime.Isolates && lines[0] != "http://127.0.0.1:5000 first" {
		t.Errorf("the port is not the one asked for: %q", lines[0])
	}
	address := strings.TrimPrefix(strings.Fields(lines[1])[0], "http://")
	if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
		conn.Close()
		t.Errorf("%s is still served", address)
	}
}

func testFailingService(t *testing.T, b bench) {
	broken := errors.New("the model is gone")
	spec := b.spec("sleep")
	spec.Services = []executor.Service{{Name: "model", Serve: func(context.Context, net.Listener) error { return broken }}}
	if exit, err := b.call(t.Context(), spec, &bytes.Buffer{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "serve model") {
		t.Errorf("got %+v, %v, want %v", exit, err, broken)
	}
}
