package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// process is a running Chromium.
type process struct {
	in  *os.File
	mu  sync.Mutex
	id  int
	got map[int]chan reply
	// on are the tabs by their sessions.
	on   map[string]*Tab
	stop func()
}

// shared is the browser that runs, if one does.
var shared struct {
	sync.Mutex
	*process
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// message is a message of the browser.
type message struct {
	ID        int             `json:"id"`
	Result    json.RawMessage `json:"result"`
	Error     *struct{ Message string }
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	SessionID string          `json:"sessionId"`
}

// Rebound is a name that resolves to this machine in the browser, as that of a
// site does that tries DNS rebinding.
const Rebound = "rebound.example"

// Open returns the browser for a test; the first one starts it. The test is skipped if the
// machine has none. The TestMain of the package calls Close.
func Open(t testing.TB) *Browser {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.process == nil {
		path := found()
		if path == "" {
			t.Skip("there is no Chromium: apt-get install chromium")
		}
		p, err := start(path)
		if err != nil {
			t.Fatal(err)
		}
		shared.process = p
	}
	return &Browser{t, shared.process}
}

// Close stops the browser, if a test has started it.
func Close() {
	shared.Lock()
	defer shared.Unlock()
	if shared.process != nil {
		shared.stop()
		shared.process = nil
	}
}

func found() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func start(path string) (*process, error) {
	toChild, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, fromChild, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mleflow-browser-")
	if err != nil {
		return nil, err
	}
	ctx, kill := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--hide-scrollbars", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--host-resolver-rules=MAP "+Rebound+" 127.0.0.1", "--no-first-run", "--disable-extensions", "--disable-background-networking", "--user-data-dir="+dir, "about:blank")
	cmd.ExtraFiles = []*os.File{toChild, fromChild}
	cmd.Env = append(os.Environ(), "HOME="+dir)
	p := &process{in: in, got: map[int]chan reply{}, on: map[string]*Tab{}}
	p.stop = func() {
		_, _ = p.call("", "Browser.close", nil)
		time.AfterFunc(5*time.Second, kill)
		_ = cmd.Wait() // however it ends
		kill()
		in.Close()
		_ = os.RemoveAll(dir)
	}
	if err := cmd.Start(); err != nil {
		kill()
		_ = os.RemoveAll(dir)
		return nil, err
	}
	toChild.Close()
	fromChild.Close()
	go p.read(out)
	return p, nil
}

// read passes on the browser's messages.
func (b *process) read(out *os.File) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for id, to := range b.got {
				delete(b.got, id)
				close(to)
			}
			b.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		to, tab := b.got[m.ID], b.on[m.SessionID]
		delete(b.got, m.ID)
		b.mu.Unlock()
		switch {
		case m.ID > 0 && to != nil:
			to <- reply{m.Result, m.Error}
		case tab != nil:
			tab.hear(m)
		}
	}
}

var errGone = errors.New("the browser is gone")

// call asks the browser for something.
func (b *process) call(session, method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	b.id++
	id, to := b.id, make(chan reply, 1)
	b.got[id] = to
	text, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": session})
	if params == nil {
		text, err = json.Marshal(map[string]any{"id": id, "method": method, "sessionId": session})
	}
	if session == "" {
		text = bytes.Replace(text, []byte(`,"sessionId":""`), nil, 1)
	}
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r, ok := <-to:
		if !ok {
			return nil, errGone
		}
		if r.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		return r.Result, nil
	case <-time.After(2 * time.Minute):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}
