package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// TestKaggleLogin asks Kaggle with the login of its client, whose token has ended, and once
// more after it was logged out. No token is printed, or left in the cache.
func TestKaggleLogin(t *testing.T) {
	const id = "spaceship-titanic"
	srv := kaggletest.New(nil)
	t.Cleanup(srv.Close)
	srv.Add(kaggletest.Competition{Slug: id, Archive: kaggletest.NewObject(1, 5000)})
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	login := filepath.Join(home, ".kaggle", "credentials.json")
	file := filepath.Join(dir, "p.hcl")
	must(t, os.MkdirAll(filepath.Dir(login), 0o700), os.WriteFile(login, []byte(`{"refresh_token":"`+kaggletest.Refresh+`"}`), 0o600),
		os.WriteFile(file, []byte(`step "download" "raw" { competition = "`+id+`" }`), 0o644))
	p := &place{t: t, cache: filepath.Join(dir, "cache"), env: []string{
		"HOME=" + home, "KAGGLE_API_ENDPOINT=" + srv.Endpoint, "KAGGLE_API_TOKEN=", "KAGGLE_KEY=", "KAGGLE_CONFIG_DIR=", "XDG_CONFIG_HOME=",
	}}
	ask := func(want string, args ...string) {
		t.Helper()
		out, errs, _ := p.run(args...)
		if !strings.Contains(out+errs, want) || strings.Contains(out+errs, "canary0") {
			t.Errorf("%q is not in, or a token is:\n%s%s", want, out, errs)
		}
	}
	ask("checksum mismatch", "plan", file, "--preflight")
	if text := read(t, login); !strings.Contains(text, "canary0access0token1") {
		t.Errorf("the file has no new token:\n%s", text)
	}
	srv.ExpireTokens()
	srv.LogOut()
	ask(login+` has expired or been revoked (401 Unauthorized): run "kaggle auth login"`, "apply", file)
	err := filepath.WalkDir(p.cache, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("canary0")) {
			t.Errorf("%s has a token", path)
		}
		return err
	})
	must(t, err)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
