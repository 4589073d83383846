package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/plain"
)

// credential identifies the user to Kaggle.
type credential struct {
	authorize func(*http.Request)
	// secrets must not be shown.
	secrets []string
}

// errNoCredential says how to create a credential and where it is searched.
var errNoCredential = fmt.Errorf("%w: on kaggle.com choose Settings, API, Create New Token, and save the file as ~/.kaggle/kaggle.json with mode 600, "+
	"or set KAGGLE_API_TOKEN", ErrCredential)

// credential returns the first credential found.
func (k *Kaggle) credential() (*credential, error) {
	if token := k.env("KAGGLE_API_TOKEN"); token != "" {
		return bearerOf(token)
	}
	if user, key := k.env("KAGGLE_USERNAME"), k.env("KAGGLE_KEY"); user != "" && key != "" {
		return basic(user, key), nil
	}
	for _, dir := range k.folders() {
		if c, err := credentialIn(dir); c != nil || err != nil {
			return c, err
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

// bearerOf is the token in KAGGLE_API_TOKEN, or in the file that it names.
func bearerOf(token string) (*credential, error) {
	text, err := os.ReadFile(token)
	switch {
	case err == nil && tokenOf(text) == "":
		return nil, fmt.Errorf("%w: the file that KAGGLE_API_TOKEN names is empty", ErrCredential)
	case err == nil:
		return bearer(tokenOf(text)), nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: the file that KAGGLE_API_TOKEN names cannot be read", ErrCredential)
	}
	return bearer(token), nil
}

func tokenOf(file []byte) string { return strings.TrimSpace(string(file)) }

// tokenFiles are the possible names of the file with a token; Windows adds a
// suffix.
var tokenFiles = []string{"access_token", "access_token.txt"}

// credentialIn reads the credential in a folder; nil if there is none.
func credentialIn(dir string) (*credential, error) {
	for _, name := range tokenFiles {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && tokenOf(text) != "" {
			return bearer(tokenOf(text)), nil
		}
	}
	path := filepath.Join(dir, "kaggle.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	var c struct{ Username, Key string }
	if err := json.Unmarshal(text, &c); err != nil || c.Username == "" || c.Key == "" {
		return nil, fmt.Errorf("%w: %s must be a JSON object with username and key", ErrCredential, path)
	}
	return basic(c.Username, c.Key), nil
}

func bearer(token string) *credential {
	return &credential{secrets: []string{token}, authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }}
}

func basic(user, key string) *credential {
	return &credential{secrets: []string{key, user + ":" + key}, authorize: func(r *http.Request) { r.SetBasicAuth(user, key) }}
}

// messageIn extracts the message from an answer, {"code":403,"message":"…"}, on one
// line.
func messageIn(body []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return strings.TrimSpace(plain.Line(addresses.Regexp().ReplaceAllStringFunc(e.Message, Redact)))
}
