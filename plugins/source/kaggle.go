package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// kaggleAPI is where Kaggle's public API is.
const kaggleAPI = "https://www.kaggle.com/api/v1"

// Kaggle downloads all files of a competition as one archive by Kaggle's
// public API. The address redirects to one that is signed and expires; each
// attempt asks for a new one and goes on where the last was cut off.
//
// The credential is looked for where Kaggle's own client does, when a fetch
// begins: KAGGLE_API_TOKEN, KAGGLE_USERNAME with KAGGLE_KEY, then kaggle.json
// and access_token in KAGGLE_CONFIG_DIR, ~/.kaggle or ~/.config/kaggle. It is
// sent to Kaggle alone and is in no key, log or error.
type Kaggle struct {
	http *HTTP
	api  string
	env  func(string) string
}

// NewKaggle returns the source, which fetches by the given one.
func NewKaggle(h *HTTP) *Kaggle { return &Kaggle{http: h, api: kaggleAPI, env: os.Getenv} }

// Check implements Source.
func (*Kaggle) Check(spec Spec) error {
	if spec.Slug == "" {
		return errors.New("a kaggle source needs a slug, the last part of the competition's address")
	}
	return nil
}

// Fingerprint implements Source. Competitions are closed: without a pin the
// name stands for the content.
func (*Kaggle) Fingerprint(spec Spec, h *digest.Hasher) error {
	if !fingerprintPins(spec, h) {
		h.String("source Kaggle", spec.Slug)
	}
	return nil
}

// Fetch implements Source.
func (k *Kaggle) Fetch(ctx context.Context, req Request) (Data, error) {
	slug := req.Spec.Slug
	authorize, err := k.credential()
	if err != nil {
		return Data{}, fmt.Errorf("fetch %s from Kaggle: %w; or download all files of https://www.kaggle.com/competitions/%s/data "+
			"by hand and name the archive, or the folder it was unpacked to: from = \"/…\"", slug, err, slug)
	}
	h := *k.http
	h.authorize = authorize
	req.Spec.URL = k.api + "/competitions/data/download-all/" + url.PathEscape(slug)
	data, err := h.Fetch(ctx, req)
	if err != nil {
		return Data{}, fmt.Errorf("from Kaggle: %w%s", err, kaggleHint(err, slug))
	}
	return data, nil
}

// kaggleHint says what to do about a refusal.
func kaggleHint(err error, slug string) string {
	var status *statusError
	if !errors.As(err, &status) {
		return ""
	}
	switch status.code {
	case http.StatusUnauthorized:
		return " (the credential is wrong or has been revoked: on kaggle.com choose Settings, API, Create New Token)"
	case http.StatusForbidden:
		return fmt.Sprintf(" (join the competition and accept its rules at https://www.kaggle.com/competitions/%s/rules)", slug)
	case http.StatusNotFound:
		return fmt.Sprintf(" (there is no competition %q, or its data have been withdrawn)", slug)
	}
	return ""
}

// errNoCredential says where credentials are looked for.
var errNoCredential = errors.New("there is no credential: on kaggle.com choose Settings, API, Create New Token, and save the file as ~/.kaggle/kaggle.json with mode 600")

// credential returns what adds the first credential found to a request.
func (k *Kaggle) credential() (func(*http.Request), error) {
	if token := k.env("KAGGLE_API_TOKEN"); token != "" {
		return bearer(token), nil
	}
	if user, key := k.env("KAGGLE_USERNAME"), k.env("KAGGLE_KEY"); user != "" && key != "" {
		return basic(user, key), nil
	}
	for _, dir := range k.folders() {
		authorize, err := credentialIn(dir)
		if authorize != nil || err != nil {
			return authorize, err
		}
	}
	return nil, errNoCredential
}

func (k *Kaggle) folders() []string {
	var dirs []string
	if dir := k.env("KAGGLE_CONFIG_DIR"); dir != "" {
		dirs = append(dirs, dir)
	}
	if home := k.env("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".kaggle"), filepath.Join(home, ".config", "kaggle"))
	}
	return dirs
}

// credentialIn reads the credential of a folder; nil if it has none.
func credentialIn(dir string) (func(*http.Request), error) {
	path := filepath.Join(dir, "kaggle.json")
	if text, err := os.ReadFile(path); err == nil {
		var c struct{ Username, Key string }
		if err := json.Unmarshal(text, &c); err != nil || c.Username == "" || c.Key == "" {
			return nil, fmt.Errorf("%s is no credential: it must be a JSON object with username and key", path)
		}
		return basic(c.Username, c.Key), nil
	}
	if text, err := os.ReadFile(filepath.Join(dir, "access_token")); err == nil && len(strings.TrimSpace(string(text))) > 0 {
		return bearer(strings.TrimSpace(string(text))), nil
	}
	return nil, nil
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func basic(user, key string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, key) }
}
