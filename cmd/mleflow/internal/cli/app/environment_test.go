package app

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
)

// TestBinaryDigest is that of the running program.
func TestBinaryDigest(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := BinaryDigest(""), digest.Of(text).String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
