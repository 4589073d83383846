package aide

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// faulty is what the model does first: there are too many requests, then it has
// an error of its own.
func faulty(a *modeltest.Ask) modeltest.Fault {
	switch a.Number {
	case 1:
		return modeltest.Fault{Status: http.StatusTooManyRequests, RetryAfter: "1"}
	case 2:
		return modeltest.Fault{Status: http.StatusInternalServerError}
	}
	return modeltest.Fault{}
}

// serve serves at an address of this machine that a proxy is asked for, unlike
// 127.0.0.1, and returns it.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}
