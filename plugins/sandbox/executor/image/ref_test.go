package image

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
)

func TestParseImage(t *testing.T) {
	d := "sha256:" + strings.Repeat("ab", 32)
	for text, want := range map[string]Ref{
		"alpine@" + d:                     {RemoteRef, "docker.io/library/alpine@" + d, digest.Digest(d)},
		"org/agent@" + d:                  {RemoteRef, "docker.io/org/agent@" + d, digest.Digest(d)},
		"registry.example/org/agent@" + d: {RemoteRef, "registry.example/org/agent@" + d, digest.Digest(d)},
		"localhost:5000/agent@" + d:       {RemoteRef, "localhost:5000/agent@" + d, digest.Digest(d)},
		"local:some/name:tag":             {Kind: LocalRef, Name: "some/name:tag"},
		"local:name@" + d:                 {LocalRef, "name", digest.Digest(d)},
	} {
		got, err := ParseRef(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "alpine", "alpine:3", "alpine@sha256:12", "local:", "a@" + d + "x"} {
		if _, err := ParseRef(text); !errors.Is(err, ErrUnpinned) {
			t.Errorf("%q: %v, want ErrUnpinned", text, err)
		}
	}
	if _, err := ParseRef("/nowhere/at/all.tar"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
