package source

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// kaggleEndpoint is Kaggle's address.
const kaggleEndpoint = "https://www.kaggle.com"

// Kaggle downloads all files of a competition as one archive through Kaggle's
// public API. The address redirects to a signed one that expires; when the
// storage refuses a part because of that, a new address is requested.
//
// When a fetch begins, the credential is searched in the places and the order of
// Kaggle's own client; see kaggleLogins. It is sent only to Kaggle and appears in no
// key, log or error.
//
// KAGGLE_API_ENDPOINT, the variable of Kaggle's own kagglehub, names another
// server with the same API, for tests and mirrors, such as
// http://localhost:7777; the credential is then sent there.
type Kaggle struct {
	http *HTTP
	env  func(string) string

	mu sync.Mutex
	// renewed is the login with the last token that it got here.
	renewed kaggleLogin
}

// NewKaggle returns the source, which fetches by the given one.
func NewKaggle(h *HTTP) *Kaggle { return &Kaggle{http: h, env: os.Getenv} }

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
	data, err := with(ctx, k, slug, func(s *kaggleSession) (Data, error) {
		return k.http.fetch(ctx, req, s.archive(slug))
	})
	switch {
	case errors.Is(err, ErrCredential):
		return Data{}, fmt.Errorf("fetch %s from Kaggle: %w; or download all files of %s/competitions/%s/data "+
			"by hand and name the archive, or the folder it was unpacked to: from = \"/…\"", slug, err, kaggleEndpoint, slug)
	case err != nil:
		return Data{}, fmt.Errorf("from Kaggle: %w", err)
	}
	return data, nil
}

// kaggleSession is the API with a credential.
type kaggleSession struct {
	*credential
	http *HTTP
	api  string
}

// with calls do with a session, and explains its error. If Kaggle refuses the token of a
// login, do is called once more with a new one: the clocks may differ, and a download may
// take longer than a token lasts.
func with[T any](ctx context.Context, k *Kaggle, slug string, do func(*kaggleSession) (T, error)) (got T, err error) {
	s, err := k.session(ctx, "")
	if err != nil {
		return got, err
	}
	got, err = do(s)
	if status, ok := errors.AsType[*statusError](err); ok && status.code == http.StatusUnauthorized && !status.elsewhere && s.login != nil {
		if s, err = k.session(ctx, s.token); err != nil {
			return got, err
		}
		got, err = do(s)
	}
	return got, s.explain(err, slug)
}

// kaggleAPI returns the URL of the API. A credential is sent there, so it must
// use TLS unless it is on this machine.
func kaggleAPI(endpoint string) (string, error) {
	endpoint = cmp.Or(endpoint, kaggleEndpoint)
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname())) {
		return "", fmt.Errorf("KAGGLE_API_ENDPOINT must be an https:// address, or http:// of this machine, not %q", Redact(endpoint))
	}
	return strings.TrimSuffix(endpoint, "/") + "/api/v1", nil
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// at returns a URL of the API that ends with a name.
func (s *kaggleSession) at(path, name string) *origin {
	return &origin{web: s.http.web, url: s.api + path + url.PathEscape(name), authorize: s.authorize, secrets: s.secrets, tell: messageIn}
}

// archive is the URL of the archive with all files.
func (s *kaggleSession) archive(slug string) *origin {
	return s.at("/competitions/data/download-all/", slug)
}

// explain adds the remedy to a refusal, and its kind.
func (s *kaggleSession) explain(err error, slug string) error {
	var status *statusError
	if !errors.As(err, &status) || status.elsewhere {
		return err
	}
	explained := func(kind error, hint string, args ...any) error {
		text := fmt.Sprintf("%v (%s)", err, fmt.Sprintf(hint, args...))
		return secret.Reworded(errors.Join(err, kind), text)
	}
	switch status.code {
	case http.StatusUnauthorized:
		return explained(ErrCredential, "the credential in %s is wrong, or has expired or been revoked: %s", s.place, howToLogIn)
	case http.StatusForbidden:
		return explained(ErrRules, "join the competition and accept its rules at %s/competitions/%s/rules; "+
			"where that does not help, verify the account's telephone number in its settings", kaggleEndpoint, slug)
	case http.StatusNotFound, http.StatusGone:
		return explained(ErrGone, "there is no competition %q, or its data have been withdrawn", slug)
	case http.StatusTooManyRequests:
		return explained(nil, "Kaggle limits the rate of requests; this one will be retried")
	}
	return err
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
