package source

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// loggedIn returns a server, a source, and the file of its login, whose token has lasted
// until the given time.
func loggedIn(t *testing.T, plan kaggletest.Plan, until time.Time) (*kaggletest.Server, *Kaggle, string) {
	t.Helper()
	srv := toyServer(t, 10, plan)
	k := scaledKaggle(srv, 1)
	home := t.TempDir()
	k.env = func(name string) string {
		return map[string]string{"HOME": home, "KAGGLE_API_ENDPOINT": srv.Endpoint}[name]
	}
	path := filepath.Join(home, ".kaggle", "credentials.json")
	writeCredential(t, path, `{
  "refresh_token": "`+kaggletest.Refresh+`",
  "access_token": "canary0old0access0token",
  "access_token_expiration": "`+until.Format("2006-01-02T15:04:05.000000-07:00")+`",
  "username": "canary-user",
  "scopes": ["resources.admin:*"]
}`)
	return srv, k, path
}

// TestKaggleLogin uses the login of Kaggle's client: an expired token is replaced, in the
// file too, which keeps the rest and is read by nobody else.
func TestKaggleLogin(t *testing.T) {
	srv, k, path := loggedIn(t, nil, time.Now().Add(-time.Hour))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := k.Inspect(t.Context(), Spec{Slug: "toy"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := srv.Stats().Granted.Load(); n != 1 {
		t.Errorf("%d tokens were asked for, want 1", n)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"canary0access0token1", kaggletest.Refresh, `"username": "canary-user"`, `"resources.admin:*"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the file has no %s:\n%s", want, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	again := scaledKaggle(srv, 1)
	again.env = k.env
	if _, err := again.Inspect(t.Context(), Spec{Slug: "toy"}); err != nil || srv.Stats().Granted.Load() != 1 {
		t.Errorf("the next process: %v, %d tokens", err, srv.Stats().Granted.Load())
	}
}

// TestKaggleLoginRefused gets a new token when Kaggle refuses one that should last still,
// as when the clocks differ.
func TestKaggleLoginRefused(t *testing.T) {
	srv, k, _ := loggedIn(t, nil, time.Now().Add(time.Hour))
	for n := range int64(2) {
		if _, err := k.Inspect(t.Context(), Spec{Slug: "toy"}); err != nil || srv.Stats().Granted.Load() != n+1 {
			t.Errorf("%v, %d tokens, want %d", err, srv.Stats().Granted.Load(), n+1)
		}
		srv.ExpireTokens()
	}
}

// TestKaggleLoginReadOnly renews a login once though its file cannot be written.
func TestKaggleLoginReadOnly(t *testing.T) {
	srv, k, path := loggedIn(t, nil, time.Now().Add(-time.Hour))
	stranger := filepath.Join(t.TempDir(), "credentials.json")
	writeCredential(t, stranger, `{"refresh_token":"another","access_token":"its"}`)
	for range 2 {
		if _, err := k.Inspect(t.Context(), Spec{Slug: "toy"}); err != nil {
			t.Fatal(err)
		}
		writeCredential(t, path, `{"refresh_token":"`+kaggletest.Refresh+`"}`)
	}
	if n := srv.Stats().Granted.Load(); n != 1 {
		t.Errorf("%d tokens were asked for, want 1", n)
	}
	if err := k.renewed.save(stranger); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(stranger); err != nil || string(text) != `{"refresh_token":"another","access_token":"its"}` {
		t.Errorf("another login was changed: %s, %v", text, err)
	}
}

// TestKaggleLoginFaults says what to do when a login has ended, and waits for a server
// that is busy. No error has a token.
func TestKaggleLoginFaults(t *testing.T) {
	status := func(code, times int) kaggletest.Plan {
		var mu sync.Mutex
		return func(c kaggletest.Call) kaggletest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if !strings.HasSuffix(c.Request.URL.Path, "/GenerateAccessToken") || times == 0 {
				return kaggletest.Fault{}
			}
			times--
			return kaggletest.Fault{Kind: kaggletest.Status, Code: code}
		}
	}
	for _, tt := range []struct {
		name string
		plan kaggletest.Plan
		out  bool
		want string
		kind error
	}{
		{name: "logged out", out: true, want: "credentials.json has expired or been revoked (401 Unauthorized): run \"kaggle auth login\"", kind: ErrCredential},
		{name: "bad request", plan: status(400, -1), want: "has expired or been revoked (400 Bad Request)", kind: ErrCredential},
		{name: "busy once", plan: status(429, 1)},
		{name: "down once", plan: status(503, 2)},
		{name: "busy", plan: status(429, -1), want: "renew the login in"},
		{name: "down", plan: status(502, -1), want: "renew the login in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, k, path := loggedIn(t, tt.plan, time.Time{})
			if tt.out {
				srv.LogOut()
			}
			before, _ := os.ReadFile(path)
			_, err := k.Inspect(t.Context(), Spec{Slug: "toy"})
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrCredential) != (tt.kind != nil) || errors.As(err, new(*TemporaryError)) == (tt.kind != nil) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary0") {
				t.Errorf("a token is in the error: %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("the file was changed:\n%s", after)
			}
		})
	}
}

// TestKaggleLoginRedirect: a token of a login is posted to Kaggle only.
func TestKaggleLoginRedirect(t *testing.T) {
	_, k, _ := loggedIn(t, nil, time.Time{})
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+r.Header.Get("Authorization"))
	}))
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	env := k.env
	k.env = func(name string) string {
		if name == "KAGGLE_API_ENDPOINT" {
			return api.URL
		}
		return env(name)
	}
	if _, err := k.Inspect(t.Context(), Spec{Slug: "toy"}); err == nil {
		t.Error("no error")
	}
	for _, call := range got {
		if call != "GET" {
			t.Errorf("the other host got %q", call)
		}
	}
	if len(got) == 0 {
		t.Error("the redirect was not followed")
	}
}

// TestKagglePlaces finds a credential behind files that have none, and says which file it
// cannot use if there is no other.
func TestKagglePlaces(t *testing.T) {
	key := `{"username":"user","key":"key"}`
	login := `{"refresh_token":"r"}`
	for _, tt := range []struct {
		name  string
		files map[string]string
		place string
		text  string
	}{
		{"none", nil, "", `kaggle auth login`},
		{"a login", map[string]string{".kaggle/credentials.json": login}, ".kaggle/credentials.json", ""},
		{"settings before a key", map[string]string{".kaggle/kaggle.json": `{"competition":"x"}`, ".config/kaggle/kaggle.json": key}, ".config/kaggle/kaggle.json", ""},
		{"settings only", map[string]string{".kaggle/kaggle.json": `{"competition":"x"}`}, "", "Generate New Token"},
		{"a token in kaggle.json", map[string]string{".kaggle/kaggle.json": "KGAT_s3cret\n"}, "", "access_token"},
		{"a token in kaggle.json before a login", map[string]string{".kaggle/kaggle.json": "KGAT_s3cret\n", ".kaggle/credentials.json": login}, ".kaggle/credentials.json", ""},
		{"no JSON", map[string]string{".kaggle/kaggle.json": "s3cret"}, "", "username and key"},
		{"no UTF-8", map[string]string{".kaggle/kaggle.json": "\xff\xfe{\x00s3cret"}, "", "username and key"},
		{"an empty token", map[string]string{".kaggle/access_token": "\n", ".kaggle/kaggle.json": key}, ".kaggle/kaggle.json", ""},
		{"a key before a login", map[string]string{".kaggle/credentials.json": login, ".config/kaggle/kaggle.json": key}, ".config/kaggle/kaggle.json", ""},
		{"a login of nobody", map[string]string{".kaggle/credentials.json": `{"access_token":"s3cret"}`}, "", "kaggle auth login"},
		{"a broken login", map[string]string{".kaggle/credentials.json": `{"refresh_token":"s3cret`}, "", "credentials.json is not the file"},
		{"a huge file", map[string]string{".kaggle/access_token": strings.Repeat("s3cret", 100_000)}, "", "more than 65536 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			for name, text := range tt.files {
				writeCredential(t, filepath.Join(home, name), text)
			}
			place, err := KaggleCredential(func(name string) string { return map[string]string{"HOME": home}[name] })
			if want := filepath.Join(home, tt.place); tt.text == "" && (place != want || err != nil) {
				t.Errorf("%s, %v, want %s", place, err, want)
			}
			if tt.text != "" && (!errors.Is(err, ErrCredential) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("got %v, want %q", err, tt.text)
			}
		})
	}
}

// TestKaggleStrangePlaces waits for no pipe, and goes on after a folder and a file that it
// may not read.
func TestKaggleStrangePlaces(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".kaggle")
	writeCredential(t, filepath.Join(dir, "kaggle.json"), `{"username":"user","key":"canary-key"}`)
	writeCredential(t, filepath.Join(home, ".config", "kaggle", "credentials.json"), `{"refresh_token":"canary-refresh"}`)
	err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "access_token"), 0o600), os.Mkdir(filepath.Join(dir, "access_token.txt"), fs.ModePerm))
	if err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"HOME": home, "KAGGLE_API_TOKEN": "canary-token"}[name]
	}
	if diff := cmp.Diff([]string{"canary-token", "canary-key", "user:canary-key", "", "canary-refresh"}, KaggleSecrets(env)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
