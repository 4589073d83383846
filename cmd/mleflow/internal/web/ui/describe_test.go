package ui

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/engine/history"
)

// TestDescribe changes what people say of a run, with the token of the form alone.
func TestDescribe(t *testing.T) {
	l := newLab(t)
	id := l.try("few.hcl", l.start, trials(1))
	send := func(token, name, tags, note string) int {
		r := httptest.NewRequest("POST", runAddress(id)+describeEnd, strings.NewReader(url.Values{"token": {token}, "name": {name}, "tags": {tags}, "note": {note}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		l.ui.ServeHTTP(w, r)
		return w.Code
	}
	about := func() history.About { return must(l.history.Open(id)).About() }
	for _, token := range []string{"", "x", l.ui.token + "x"} {
		if status := send(token, "evil", "", ""); status != 403 || about().RunName != "" {
			t.Errorf("the token %q: status %d, %+v", token, status, about())
		}
	}
	if status := send(l.ui.token, "lion", "set=lite\r\nempty=\nmodel = gpt", "one\r\ntwo"); status != 303 {
		t.Errorf("status %d", status)
	}
	want := history.About{RunName: "lion", Tags: map[string]string{"set": "lite", "model": "gpt"}, Note: "one\ntwo"}
	if diff := cmp.Diff(want, about()); diff != "" {
		t.Error(diff)
	}
	for name, bad := range map[string][3]string{"a name": {"two words", "", ""}, "a tag": {"", "k=\x1b[2J", ""}, "a note": {"", "", "\u202e"}} {
		if status := send(l.ui.token, bad[0], bad[1], bad[2]); status < 400 {
			t.Errorf("%s: status %d", name, status)
		}
	}
	if diff := cmp.Diff(want, about()); diff != "" {
		t.Error(diff)
	}
	if status, _ := l.get(runAddress(id) + describeEnd); status != 404 {
		t.Errorf("asking for it: status %d", status)
	}
}

// TestDescribeInTheBrowser sends the form in a browser, through the guard.
func TestDescribeInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	id := l.try("few.hcl", l.start, trials(1))
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Go(base + runAddress(id) + "/about")
	looked(t, tab, "about")
	tab.Run(`window.before = true; document.querySelector('[name=name]').value = 'lion'; document.querySelector('[name=tags]').value = 'set=lite'`)
	tab.Click(".describe button")
	tab.Wait(`!window.before && document.querySelector('.describe') && document.querySelector('[name=tags]').value === 'set=lite'`)
	if got := must(l.history.Open(id)).About(); got.RunName != "lion" || got.Tags["set"] != "lite" {
		t.Errorf("the run is %+v", got)
	}
	tab.Go(base + "/runs?tag=set%3Dlite")
	tab.Wait(`document.querySelector('.grid').innerText.includes('lion')`)
}
