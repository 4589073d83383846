package notify

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patient is a limit that a machine under load keeps.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

const token = "t0k3n-S3cr3tS3cr3t"

// TestWebhooks sends to servers that do not behave.
func TestWebhooks(t *testing.T) {
	internal := 0
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { internal++ }))
	defer private.Close()
	gone := make(chan struct{})
	bodies := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.HasSuffix(r.URL.Path, "/500"):
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, r.URL.Path)
		case strings.HasSuffix(r.URL.Path, "/elsewhere"):
			http.Redirect(w, r, private.URL+"/"+token, http.StatusTemporaryRedirect)
		case strings.HasSuffix(r.URL.Path, "/huge"):
			for part := make([]byte, 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		case strings.HasSuffix(r.URL.Path, "/slow"):
			select {
			case <-gone:
			case <-r.Context().Done():
			}
		default:
			bodies <- string(body)
		}
	}))
	defer s.Close()
	defer close(gone)
	base := "generic+" + s.URL + "/" + token
	for path, want := range map[string]string{
		"/500": "500 Internal Server Error", "/elsewhere": "it redirects to another address; write that one", "/huge": "its answer is too large",
	} {
		r := Receiver{Name: "r", To: base + path + "?template=json&key=" + token}
		if err := r.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if internal > 0 {
		t.Error("a redirect was followed")
	}
	t.Setenv("WEBHOOK", base+"?template=json")
	ok := Receiver{Name: "r", To: "env:WEBHOOK"}
	if err := ok.Send(patient(t), Test); err != nil {
		t.Error(err)
	}
	if got, want := <-bodies, `{"message":"mleflow notify test sent this.","title":"mleflow: test message"}`; got != want {
		t.Error(got)
	}
	slow := Receiver{Name: "r", To: base + "/slow"}
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errSlow)
	defer cancel()
	began := time.Now()
	if err := slow.Send(ctx, Test); err != errSlow { //nolint:errorlint // the cause itself
		t.Error(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Error("took", took)
	}
}

// TestUnreachable: no service names its secrets when it fails, and each that fails says so.
func TestUnreachable(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "")
	for _, to := range []string{
		"telegram://123456789:ABCDEFGHijklmn0123456789ABCDEFGHijk@telegram?chats=@secretchat", "slack://hook:WNA3PBYV6-F20DUQND3RQ-Webc4MAvoacrpPakR8phF0zi@webhook",
		"slack://" + token + "@webhook", "discord://" + token + "@12345678", "ntfy://user:" + token + "@127.0.0.1:1/" + token + "?scheme=http",
		"smtp://user:" + token + "@127.0.0.1:1/?from=a@b.c&to=secret@e.f", "gotify://127.0.0.1:1/AbcdefghIjklmno?disabletls=yes", "generic+http://127.0.0.1:1/" + token,
		"ifttt://" + token + "/?events=event1", "join://shoutrrr:" + token + "@join/?devices=dev1", "pushover://shoutrrr:" + token + "@user123/", "telegram://" + token + "@telegram", "generic://%zz" + token,
	} {
		t.Run(strings.SplitN(to, ":", 2)[0], func(t *testing.T) {
			t.Parallel()
			r := Receiver{Name: "r", To: to}
			err := r.Send(patient(t), Test)
			if err == nil {
				t.Fatalf("%s: it says that a message was sent", to)
			}
			t.Log(err)
			for _, part := range []string{token, strings.ToLower(token), "secret", "ABCDEFGHijklmn", "Webc4MAvoacr", "AbcdefghIjklmno", "12345678"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v", to, err)
				}
			}
		})
	}
}

// TestReferences: an address that cannot be found, or is none, is not shown.
func TestReferences(t *testing.T) {
	t.Setenv("NO_ADDRESS", token)
	dir := t.TempDir()
	for to, want := range map[string]string{
		"env:NOT_SET_AT_ALL": "find its address: the environment variable NOT_SET_AT_ALL is not set", "env:NO_ADDRESS": "an address is like slack://", "file:none": "no such file",
		"command:echo " + token: "an address is like slack://", "command:exit 3": "its command failed",
	} {
		r := Receiver{Name: "r", To: to, dir: dir}
		if err := r.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestCommands: a command gets JSON in its folder; one that fails, hangs or prints secrets
// does nothing but fail.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tell"), []byte("#!/bin/sh\ncat > got\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ok := Receiver{Name: "r", Command: []string{"./tell"}, dir: dir}
	if err := ok.Send(patient(t), Test); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "got")); err != nil || !strings.HasPrefix(string(got), `{"kind":"test",`) || !strings.HasSuffix(string(got), "}\n") {
		t.Error(string(got), err)
	}
	for script, want := range map[string]string{"echo " + token + "; echo " + token + " >&2; exit 1": "its command failed: exit status 1", "kill -9 $$": "signal: killed"} {
		r := Receiver{Name: "r", Command: []string{"sh", "-c", script}, dir: dir}
		if err := r.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", script, err)
		}
	}
	none := Receiver{Name: "r", Command: []string{"there-is-no-such-program"}, dir: dir}
	if err := none.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), "in no folder of $PATH; write its full path") {
		t.Error(err)
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("cat > got\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Receiver{Name: "r", Command: []string{"./plain"}, dir: dir}
	if err := r.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), "is not executable; run chmod +x "+plain) {
		t.Error(err)
	}
	if err := os.Chmod(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), "a line such as #!/bin/sh") {
		t.Error(err)
	}
	r.Command = []string{"./missing"}
	if err := r.Send(patient(t), Test); err == nil || !strings.Contains(err.Error(), "there is no "+filepath.Join(dir, "missing")) {
		t.Error(err)
	}
	// One that hangs is killed with its children.
	pids := filepath.Join(dir, "pid")
	hangs := Receiver{Name: "r", Command: []string{"sh", "-c", "sleep 600 & echo $! > pid.new; mv pid.new pid; wait"}, dir: dir}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(pids); err == nil {
				cancel(errSlow)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if err := hangs.Send(ctx, Test); err != errSlow { //nolint:errorlint // the cause itself
		t.Error(err)
	}
	pid, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("its child lives")
		}
	}
}

// TestMail sends to a server of mail.
func TestMail(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mu sync.Mutex
	var got strings.Builder
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprint(c, "220 test\r\n")
		data := false
		for lines := bufio.NewScanner(c); lines.Scan(); {
			line := lines.Text()
			mu.Lock()
			got.WriteString(line + "\n")
			mu.Unlock()
			switch {
			case data && line != ".":
			case line == "DATA":
				data = true
				fmt.Fprint(c, "354 go on\r\n")
			case line == "QUIT":
				fmt.Fprint(c, "221 bye\r\n")
				return
			default:
				data = false
				fmt.Fprint(c, "250 ok\r\n")
			}
		}
	}()
	r := Receiver{Name: "r", To: "smtp://" + l.Addr().String() + "/?from=mleflow@example.org&to=team@example.org&auth=None&usestarttls=no"}
	m := Test
	m.Title = line("mleflow a\r\nBcc: evil@example.org") // a title cannot add headers
	if err := r.Send(patient(t), m); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := got.String(); !strings.Contains(text, "RCPT TO:<team@example.org>") || !strings.Contains(text, "Subject: mleflow a  Bcc: evil(at)example.org\n") || !strings.Contains(text, "mleflow notify test sent this.") {
		t.Error(text)
	}
}
