//go:build unix && !aix && !solaris

package flock

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	check := func(what string, want bool, got bool, err error) {
		t.Helper()
		if got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
	a, b, c := open(), open(), open()
	ok, err := Try(a)
	check("free", true, ok, err)
	ok, err = Try(b)
	check("held", false, ok, err)
	ok, err = TryShared(b)
	check("held, shared", false, ok, err)
	if err := Unlock(a); err != nil {
		t.Fatal(err)
	}
	ok, err = TryShared(b)
	check("free, shared", true, ok, err)
	if err := LockShared(c); err != nil {
		t.Fatal(err)
	}
	ok, err = Try(a)
	check("shared by two", false, ok, err)
	b.Close()
	c.Close()
	ok, err = Try(a)
	check("after the holders closed", true, ok, err)
	a.Close()
	if _, err := Try(a); err == nil {
		t.Error("a closed file is locked")
	}
}
