package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/nolink"
)

// credential identifies the user to Kaggle.
type credential struct {
	// place is the variable or the file where it was found.
	place     string
	authorize func(*http.Request)
	// secrets must not be shown.
	secrets []string
	// login is set if the credential gets its token, which does not last, by a login.
	login *kaggleLogin
	token string
}

// kaggleHelp says how to get a credential, and what needs none.
const (
	howToLogIn = `run "kaggle auth login", or choose Generate New Token at https://www.kaggle.com/settings/api and save the token ` +
		"as ~/.kaggle/access_token with mode 600, or as KAGGLE_API_TOKEN"
	kaggleHelp = howToLogIn + "; without an account, mleflow prepare --rehearsal and mleflow rehearse use synthetic data"
)

// KaggleCredential returns the place of the credential that Kaggle gets: the name of a
// variable, or the path of a file. The error, an ErrCredential, says how to get one.
func KaggleCredential(env func(string) string) (place string, err error) {
	c, err := findKaggle(env)
	return c.place, err
}

// KaggleSecrets returns the secret values of all credentials of Kaggle's that this process
// can see.
func KaggleSecrets(env func(string) string) (all []string) {
	found, _ := kaggleCredentials(env)
	for _, c := range found {
		all = append(all, c.secrets...)
	}
	return all
}

func findKaggle(env func(string) string) (*credential, error) {
	found, useless := kaggleCredentials(env)
	if len(found) == 0 {
		return &credential{}, fmt.Errorf("%w: %w: %s", ErrCredential, cmp.Or(useless, errNoCredential), kaggleHelp)
	}
	return found[0], nil
}

var errNoCredential = errors.New("none was found")

// kaggleCredentials returns the credentials in the order of Kaggle's own client, and why
// something that looks like one is none: KAGGLE_API_TOKEN, which is a token or the name of
// a file with one, KAGGLE_USERNAME with KAGGLE_KEY, then the files access_token,
// access_token.txt, kaggle.json, which may have settings only, and credentials.json, which
// "kaggle auth login" writes. Each is searched in KAGGLE_CONFIG_DIR, ~/.kaggle and
// ~/.config/kaggle, or kaggle in XDG_CONFIG_HOME.
func kaggleCredentials(env func(string) string) (found []*credential, useless error) {
	add := func(c *credential, err error) {
		if c != nil {
			found = append(found, c)
		}
		useless = cmp.Or(useless, err)
	}
	if token := env("KAGGLE_API_TOKEN"); token != "" {
		add(tokenIn(token))
	}
	if user, key := env("KAGGLE_USERNAME"), env("KAGGLE_KEY"); user != "" && key != "" {
		add(basic("KAGGLE_USERNAME and KAGGLE_KEY", user, key), nil)
	}
	dirs := []string{env("KAGGLE_CONFIG_DIR")}
	if home := env("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".kaggle"), filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "kaggle"))
	}
	for _, name := range []string{"access_token", "access_token.txt", "kaggle.json", "credentials.json"} { // Windows adds .txt
		for _, dir := range dirs {
			if dir != "" {
				add(credentialIn(filepath.Join(dir, name)))
			}
		}
	}
	return found, useless
}

// tokenIn is the token in KAGGLE_API_TOKEN, or in the file that it names.
func tokenIn(token string) (*credential, error) {
	text, err := os.ReadFile(token)
	if err == nil {
		token = strings.TrimSpace(string(text))
	}
	if token == "" || errors.Is(err, fs.ErrPermission) {
		return nil, errors.New("the file that KAGGLE_API_TOKEN names is empty or cannot be read")
	}
	return bearer("KAGGLE_API_TOKEN", token), nil
}

// credentialIn reads a file, whose name says what it has; nil if it has no credential.
func credentialIn(path string) (*credential, error) {
	text, err := checkout.ReadFile(path, 64<<10)
	if err != nil {
		if _, statErr := os.Lstat(path); statErr != nil {
			return nil, nil
		}
		return nil, err
	}
	switch filepath.Base(path) {
	case "kaggle.json":
		return keyIn(path, text)
	case "credentials.json":
		return loginIn(path, text)
	}
	if token := strings.TrimSpace(string(text)); token != "" {
		return bearer(path, token), nil
	}
	return nil, nil
}

// keyIn reads the key of kaggle.json; nil if the file has settings only.
func keyIn(path string, text []byte) (*credential, error) {
	var c struct{ Username, Key string }
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s must be a JSON object with username and key; a token belongs into the file access_token beside it", path)
	}
	if c.Username == "" || c.Key == "" {
		return nil, nil
	}
	return basic(path, c.Username, c.Key), nil
}

func bearer(place, token string) *credential {
	return &credential{place: place, token: token, secrets: []string{token}, authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }}
}

func basic(place, user, key string) *credential {
	return &credential{place: place, secrets: []string{key, user + ":" + key}, authorize: func(r *http.Request) { r.SetBasicAuth(user, key) }}
}

// kaggleLogin is what "kaggle auth login" keeps in credentials.json: a token that lasts
// and gives others, which last for hours.
type kaggleLogin struct {
	RefreshToken string          `json:"refresh_token"`
	AccessToken  string          `json:"access_token"`
	Expiration   string          `json:"access_token_expiration"`
	Username     string          `json:"username"`
	Scopes       json.RawMessage `json:"scopes,omitempty"`
}

// loginIn reads credentials.json; nil if it has no login.
func loginIn(path string, text []byte) (*credential, error) {
	var login kaggleLogin
	if json.Unmarshal(text, &login) != nil {
		return nil, fmt.Errorf(`%s is not the file that "kaggle auth login" writes`, path)
	}
	if login.RefreshToken == "" {
		return nil, nil
	}
	return login.credential(path), nil
}

func (l kaggleLogin) credential(path string) *credential {
	c := bearer(path, l.AccessToken)
	c.login, c.secrets = &l, append(c.secrets, l.RefreshToken)
	return c
}

// lasts reports whether the access token lasts for some time still.
func (l kaggleLogin) lasts() bool {
	until, err := time.Parse(time.RFC3339, l.Expiration)
	return err == nil && l.AccessToken != "" && time.Until(until) > 10*time.Minute
}

// session finds the credential. A login gets a token that lasts, other than the refused
// one, once for all who wait.
func (k *Kaggle) session(ctx context.Context, refused string) (*kaggleSession, error) {
	api, err := kaggleAPI(k.env("KAGGLE_API_ENDPOINT"))
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c, err := findKaggle(k.env)
	s := &kaggleSession{credential: c, http: k.http, api: api}
	if err != nil || c.login == nil {
		return s, err
	}
	if !c.login.lasts() && k.renewed.RefreshToken == c.login.RefreshToken { // the file could not be written
		s.credential = k.renewed.credential(c.place)
	}
	if !s.login.lasts() || s.token == refused {
		if k.renewed, err = s.renew(ctx); err == nil {
			s.credential = k.renewed.credential(c.place)
			_ = k.renewed.save(c.place) // in a home that is read-only, the next process renews it again
		}
	}
	return s, err
}

// renew asks Kaggle for a token, as its client does.
func (s *kaggleSession) renew(ctx context.Context) (login kaggleLogin, err error) {
	login = *s.login
	o := s.at("/users.AccountService/GenerateAccessToken", "")
	if s.api == kaggleEndpoint+"/api/v1" {
		o.url = "https://api.kaggle.com/v1/users.AccountService/GenerateAccessToken"
	}
	o.authorize = nil
	o.form, _ = json.Marshal(map[string]string{ // strings can be encoded
		"refreshToken": login.RefreshToken, "apiVersion": "API_VERSION_V1", "expirationDuration": "43200s",
	})
	var answer struct {
		Token     string
		ExpiresIn int64
	}
	err = s.ask(ctx, o, &answer)
	status, refused := errors.AsType[*statusError](err)
	_, passes := errors.AsType[*TemporaryError](err)
	if refused && !passes && !status.elsewhere && status.code < 500 {
		return login, fmt.Errorf("%w: the login in %s has expired or been revoked (%s): %s", ErrCredential, s.place, status.text, howToLogIn)
	}
	if err == nil && (answer.Token == "" || answer.ExpiresIn <= 0) {
		err = errors.New("there is no token in the answer")
	}
	if err != nil {
		return login, fmt.Errorf("renew the login in %s: %w", s.place, err)
	}
	lasts := time.Duration(min(answer.ExpiresIn, 1<<30)) * time.Second
	login.AccessToken, login.Expiration = answer.Token, time.Now().Add(lasts).UTC().Format("2006-01-02T15:04:05.000000+00:00") // as Python writes it
	return login, nil
}

// save replaces the file of the login, whole or not at all. If the file has another login
// now, that stays.
func (l kaggleLogin) save(path string) error {
	if c, err := credentialIn(path); c == nil || c.login.RefreshToken != l.RefreshToken {
		return err
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return nolink.WriteFile(nolink.Folder(path), text, 0o600, true)
}
