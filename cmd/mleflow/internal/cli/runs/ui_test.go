package runs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestProxyURL reads addresses of reverse proxies, and refuses what could lead elsewhere or
// send the token in the clear.
func TestProxyURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"https://lab.example.org":               "https://lab.example.org",
		"https://LAB.example.org:443/":          "https://lab.example.org",
		"https://lab.example.org:8443/a-1/b.c/": "https://lab.example.org:8443/a-1/b.c",
		"http://localhost:8080/mleflow":         "http://localhost:8080/mleflow",
		"http://[::1]:80/mleflow":               "http://[::1]/mleflow",
	} {
		if at, err := PageURL(text); err != nil || at.String() != want {
			t.Errorf("%q is %q: %v", text, at.String(), err)
		}
	}
	for _, text := range []string{
		"lab.example.org/mleflow", "/mleflow", "https:///mleflow", "http://lab.example.org", "ftp://lab.example.org", "javascript:alert(1)", "//lab.example.org/",
		"https://user@lab.example.org", "https://user:secret@lab.example.org/x", "https://lab.example.org/?a=b", "https://lab.example.org/#a", "https://lab.example.org?",
		"https://lab.example.org//evil", "https://lab.example.org/a//", "https://lab.example.org/../x", "https://lab.example.org/a/..", "https://lab.example.org/.", "https://lab.example.org/a%2Fb",
		"https://lab.example.org/a b", `https://lab.example.org/\evil`, `https://lab.example.org/"onload="x`, "https://lab.example.org/{x}", "https://lab.example.org/\xff", "https://lab example.org/", "https://lab.example.org:x/",
	} {
		if at, err := PageURL(text); err == nil {
			t.Errorf("%q is taken as %q", text, at.String())
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats a password: %v", err)
		}
	}
}

// TestKeptToken: a token is made once, for this user alone, and files that others can read,
// write or chose are refused.
func TestKeptToken(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(at(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	first, err := KeptToken(at("token"))
	if again, errAgain := KeptToken(at("token")); err != nil || errAgain != nil || again != first || len(first) != 43 {
		t.Errorf("the tokens are %q and %q: %v, %v", first, again, err, errAgain)
	}
	if info, err := os.Stat(at("token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its file has the mode %v: %v", info.Mode(), err)
	}
	write("empty", "", 0o600)
	write("own", strings.Repeat("a", 32)+"\n", 0o600)
	if token, err := KeptToken(at("own")); err != nil || token != strings.Repeat("a", 32) {
		t.Errorf("a token of one's own is %q: %v", token, err)
	}
	write("group", first, 0o640)
	write("all", first, 0o604)
	write("written", first, 0o620)
	write("short", "secret", 0o600)
	write("spaces", strings.Repeat("a ", 32), 0o600)
	write("lines", first+"\n"+first, 0o600)
	write("bytes", strings.Repeat("\xff", 40), 0o600)
	write("huge", strings.Repeat("a", 1<<20), 0o600)
	refused := []string{"empty", "group", "all", "written", "short", "spaces", "lines", "bytes", "huge", "pipe", "link", "dangling", ".", "no/folder"}
	for _, err := range []error{syscall.Mkfifo(at("pipe"), 0o600), os.Symlink(at("token"), at("link")), os.Symlink(at("elsewhere"), at("dangling"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		write("foreign", first, 0o600)
		if err := os.Chown(at("foreign"), 65534, -1); err != nil {
			t.Fatal(err)
		}
		refused = append(refused, "foreign")
	}
	for _, name := range refused {
		if token, err := KeptToken(at(name)); err == nil {
			t.Errorf("%s gives the token %q", name, token)
		} else if strings.Contains(err.Error(), first) {
			t.Errorf("%s: the error repeats a token: %v", name, err)
		}
	}
	if _, err := os.Lstat(at("elsewhere")); err == nil {
		t.Error("a link leads to a new file")
	}
}
