package ui

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/mleflow/mleflow/engine/history"
)

// describeEnd ends the one address that changes something.
const describeEnd = "/describe"

// descriptionForm is the form with what people say of a run.
type descriptionForm struct{ Action, Token, Name, Tags, Note string }

func (u *UI) descriptionForm(past *history.Past) descriptionForm {
	about := past.About()
	var tags []string
	for _, key := range sortedKeys(about.Tags) {
		tags = append(tags, key+"="+about.Tags[key])
	}
	return descriptionForm{runAddress(past.Info.ID) + describeEnd, u.token, about.RunName, strings.Join(tags, "\n"), about.Note}
}

// describe changes the name, the tags and the note of a run, which no result depends on.
// It is the only change that the pages make. The guard has found that the request is from
// a page of ours; the token shows that the page was made by this process.
func (u *UI) describe(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(u.token)) != 1 {
		http.Error(w, "The page is of an earlier start of mleflow ui. Load it again.", http.StatusForbidden)
		return
	}
	past, err := u.History.Open(r.PathValue("run"))
	if err == nil {
		_, err = past.Describe(func(a *history.About) {
			a.RunName, a.Tags = strings.TrimSpace(r.PostFormValue("name")), tagsIn(r.PostFormValue("tags"))
			a.Note = strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("note"), "\r\n", "\n"))
		})
	}
	if err != nil {
		u.fail(w, r, err)
		return
	}
	http.Redirect(w, r, runAddress(past.Info.ID)+"/about", http.StatusSeeOther)
}

// tagsIn are the tags of a text, one KEY=VALUE a line. One without a value is none.
func tagsIn(text string) map[string]string {
	tags := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); strings.TrimSpace(value) != "" {
			tags[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return tags
}
