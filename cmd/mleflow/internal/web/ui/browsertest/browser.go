// Package browsertest drives a Chromium for tests, over its debugging pipe: JSON
// messages on two file descriptors. It needs no library and no other program.
package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// Browser is the Chromium of all tests of a package, as one of them uses it.
type Browser struct {
	t testing.TB
	*process
}

// Form is how a page is shown.
type Form struct {
	Name          string
	Width, Height int
	Dark          bool
}

// Forms are the four that pages are looked at in.
func Forms() []Form {
	return []Form{{"desktop-light", 1280, 900, false}, {"desktop-dark", 1280, 900, true}, {"phone-light", 360, 740, false}, {"phone-dark", 360, 740, true}}
}

// Tab is a page in a profile of its own.
type Tab struct {
	b       *Browser
	session string

	mu sync.Mutex
	// said are errors of the console, exceptions, violations of policies and
	// dialogs; asked are the addresses that were requested.
	said, asked []string
	loaded      chan struct{}
}

// Tab opens a tab in a form.
func (b *Browser) Tab(f Form) *Tab {
	b.t.Helper()
	profile := b.must("", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true}, "browserContextId")
	b.t.Cleanup(func() {
		_, _ = b.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": profile}) // it may be gone
	})
	target := b.must("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": profile}, "targetId")
	tab := &Tab{b: b, loaded: make(chan struct{}, 16)}
	tab.session = b.must("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true}, "sessionId")
	b.mu.Lock()
	b.on[tab.session] = tab
	b.mu.Unlock()
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"} {
		tab.call(domain, nil)
	}
	scheme := "light"
	if f.Dark {
		scheme = "dark"
	}
	tab.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": f.Width, "height": f.Height, "deviceScaleFactor": 1, "mobile": false})
	tab.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}}})
	return tab
}

// must returns a member of a call's result.
func (b *Browser) must(session, method string, params any, member string) string {
	b.t.Helper()
	raw, err := b.call(session, method, params)
	if err != nil {
		b.t.Fatal(err)
	}
	var all map[string]any
	_ = json.Unmarshal(raw, &all)
	text, _ := all[member].(string)
	return text
}

func (t *Tab) call(method string, params any) json.RawMessage {
	t.b.t.Helper()
	raw, err := t.b.call(t.session, method, params)
	if err != nil {
		t.b.t.Fatal(err)
	}
	return raw
}

// hear takes in an event of the tab.
func (t *Tab) hear(m message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case t.loaded <- struct{}{}:
		default:
		}
	case "Page.javascriptDialogOpening":
		t.said = append(t.said, "a dialog opened: "+string(m.Params))
		go func() { _, _ = t.b.call(t.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true}) }()
	case "Runtime.exceptionThrown":
		t.said = append(t.said, "an exception: "+string(m.Params))
	case "Log.entryAdded":
		var p struct {
			Entry struct{ Level, Text, URL string }
		}
		if json.Unmarshal(m.Params, &p) == nil && p.Entry.Level == "error" {
			t.said = append(t.said, p.Entry.Text+" "+p.Entry.URL)
		}
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &p) == nil {
			t.asked = append(t.asked, p.Request.URL)
		}
	}
}

// Said returns and forgets what went wrong in the page: errors, violations of
// policies, dialogs.
func (t *Tab) Said() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.said
	t.said = nil
	return said
}

// Asked returns the addresses that were requested so far.
func (t *Tab) Asked() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.asked...)
}

// Go opens an address and waits until it is loaded.
func (t *Tab) Go(address string) {
	t.b.t.Helper()
	for len(t.loaded) > 0 {
		<-t.loaded
	}
	var to struct{ ErrorText string }
	if _ = json.Unmarshal(t.call("Page.navigate", map[string]any{"url": address}), &to); to.ErrorText != "" {
		t.b.t.Fatalf("open %s: %s", address, to.ErrorText)
	}
	select {
	case <-t.loaded:
	case <-time.After(time.Minute):
		t.b.t.Fatalf("%s is not loaded", address)
	}
}

// Run evaluates a script in the page and returns its value as JSON. It waits for
// a promise.
func (t *Tab) Run(script string) string {
	t.b.t.Helper()
	value, err := t.try(script)
	if err != nil {
		t.b.t.Fatal(err)
	}
	return value
}

func (t *Tab) try(script string) (string, error) {
	var r struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	raw, err := t.b.call(t.session, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true})
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	if e := r.ExceptionDetails; e != nil {
		return "", fmt.Errorf("run %.80s: %s %s", script, e.Text, e.Exception.Description)
	}
	return string(r.Result.Value), nil
}

// Click clicks the first element of a selector, which may lead to another page.
func (t *Tab) Click(selector string) {
	t.b.t.Helper()
	t.Run(fmt.Sprintf("setTimeout(() => document.querySelector(%q).click())", selector))
}

// Wait waits until a page is loaded, its scripts included, and a script is true.
// Meanwhile the tab may go from one page to another.
func (t *Tab) Wait(script string) {
	t.b.t.Helper()
	for range 600 {
		if is, err := t.try("document.readyState === 'complete' && !!(" + script + ")"); err == nil && is == "true" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.b.t.Fatalf("this never holds: %s; the page is %.2000s", script, t.Run("document.body.innerText"))
}

// Key presses a key.
func (t *Tab) Key(key string) {
	t.b.t.Helper()
	press := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		press["text"] = key
	}
	if code := map[string]int{"ArrowDown": 40, "ArrowUp": 38, "Enter": 13, "End": 35, "Home": 36, "Tab": 9, "Escape": 27}[key]; code > 0 {
		press["windowsVirtualKeyCode"] = code
		if key == "Enter" {
			press["text"] = "\r"
		}
	}
	t.call("Input.dispatchKeyEvent", press)
	press["type"] = "keyUp"
	delete(press, "text")
	t.call("Input.dispatchKeyEvent", press)
}

// Type types a text.
func (t *Tab) Type(text string) {
	t.b.t.Helper()
	t.call("Input.insertText", map[string]any{"text": text})
}

// tallest is the height of the largest picture, in pixels: Chromium refuses larger ones.
const tallest = 12_000

// Shot writes a picture of the page, of a very long one of its start.
func (t *Tab) Shot(path string) {
	t.b.t.Helper()
	var shot struct{ Data string }
	var size [2]int
	_ = json.Unmarshal([]byte(t.Run("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")), &size)
	clip := map[string]any{"x": 0, "y": 0, "width": size[0], "height": min(size[1], tallest), "scale": 1}
	_ = json.Unmarshal(t.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": clip}), &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.b.t.Fatal(err)
	}
}
