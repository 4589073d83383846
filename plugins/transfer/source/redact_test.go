package source

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
)

func TestRedact(t *testing.T) {
	tests := []struct{ address, want string }{
		{"https://example.org/data.zip", "https://example.org/data.zip"},
		{"https://user:secret@example.org/x", "https://xxxxx@example.org/x"},
		{"https://token@example.org/x", "https://xxxxx@example.org/x"},
		{"https://example.org/x?a=1&token=secret&b=", "https://example.org/x?a=xxxxx&token=xxxxx&b=xxxxx"},
		{"https://example.org/x?secret", "https://example.org/x?xxxxx"},
		{"https://example.org/x?a=b=secret", "https://example.org/x?a=xxxxx"},
		{"https://example.org/x#secret", "https://example.org/x"},
		{"user:secret@example.org/x", "(not an address)"},
		{"secret@example.org/x", "(not an address)"},
		{"http:secret@example.org", "(not an address)"},
		{"https://example.org/\x00?token=secret", "(not an address)"},
		{"data.zip", "data.zip"},
	}
	for _, tt := range tests {
		if got := Redact(tt.address); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.address, got, tt.want)
		}
	}
}

func redirect(to string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ *server) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// TestTokensAreNotTold sees that a token in an address is in no error, log,
// name or key, however a fetch goes, and that the server gets it.
func TestTokensAreNotTold(t *testing.T) {
	const token = "t0ken-5ecret"
	tests := []struct {
		name   string
		faults []fault
		fails  bool
	}{
		{"well", []fault{nil}, false},
		{"resumed", []fault{cutAt(1000), status(503)}, false},
		{"refused", []fault{status(403)}, true},
		{"reset", slices.Repeat([]fault{reset}, 5), true},
		{"sent elsewhere", slices.Repeat([]fault{redirect("http://127.0.0.1:1/y?sig=" + token)}, 5), true},
		{"sent nowhere", slices.Repeat([]fault{redirect("http://127.0.0.1:x/y?sig=" + token)}, 5), true},
		{"sent to another protocol", slices.Repeat([]fault{redirect("ftp://u:" + token + "@127.0.0.1/y")}, 5), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, 5000)
			s.faults = tt.faults
			spec := Spec{URL: strings.Replace(s.URL, "http://", "http://u:"+token+"@", 1) + "/data.zip?key=" + token + "#" + token}
			var told strings.Builder
			data, err := quick().Fetch(t.Context(), Request{Spec: spec, Store: memory.New(), Log: func(format string, args ...any) {
				fmt.Fprintf(&told, format+"\n", args...)
			}})
			if (err != nil) != tt.fails {
				t.Fatalf("got %v", err)
			}
			fmt.Fprintln(&told, err, data.Name)
			h := digest.NewHasher("test", "1")
			if err := quick().Fingerprint(spec, h); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&told, h.Fields())
			if strings.Contains(told.String(), token) {
				t.Errorf("the token is told:\n%s", told.String())
			}
			if err != nil && !strings.Contains(err.Error(), "/data.zip?key=xxxxx") {
				t.Errorf("the error does not name the address: %v", err)
			}
		})
	}
	if err := quick().Check(Spec{URL: "ftp://x/y?key=" + token}); err == nil || strings.Contains(err.Error(), token) {
		t.Errorf("a bad address: %v", err)
	}
}

// Addresses that differ in a parameter only are two contents.
func TestParametersAreInTheKey(t *testing.T) {
	key := func(address string) string {
		h := digest.NewHasher("test", "1")
		if err := quick().Fingerprint(Spec{URL: address}, h); err != nil {
			t.Fatal(err)
		}
		return h.Sum().String()
	}
	if key("http://a/x?id=1") == key("http://a/x?id=2") {
		t.Error("two addresses have one key")
	}
	if key("http://a/x#1") != key("http://a/x#2") {
		t.Error("a fragment, which no server sees, is in the key")
	}
}

func TestRedactText(t *testing.T) {
	for text, want := range map[string]string{
		"--mirror=https://u:p@h/x?sig=s3cret":         "--mirror=https://xxxxx@h/x?sig=xxxxx",
		"raw=s3://bucket/a?region=eu&secret=s3cret#f": "raw=s3://bucket/a?region=xxxxx&secret=xxxxx",
		"-var": "-var", "a://": "a://", "/data/raw": "/data/raw",
	} {
		if got := RedactText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
