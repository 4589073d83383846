package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
)

// kaggleEndpoint is Kaggle's address.
const kaggleEndpoint = "https://www.kaggle.com"

// Kaggle downloads all files of a competition as one archive through Kaggle's
// public API. The address redirects to a signed one that expires; when the
// storage refuses a part because of that, a new address is requested.
//
// When a fetch begins, the credential is searched in the same places as by
// Kaggle's own client: KAGGLE_API_TOKEN, which is a token or the name of a file
// with one, KAGGLE_USERNAME with KAGGLE_KEY, then access_token,
// access_token.txt and kaggle.json in KAGGLE_CONFIG_DIR, ~/.kaggle or
// ~/.config/kaggle. It is sent only to Kaggle and appears in no key, log or
// error.
//
// KAGGLE_API_ENDPOINT, the variable of Kaggle's own kagglehub, names another
// server with the same API, for tests and mirrors, such as
// http://localhost:7777; the credential is then sent there.
type Kaggle struct {
	http *HTTP
	env  func(string) string
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
	session, err := k.session()
	if err != nil {
		return Data{}, fmt.Errorf("fetch %s from Kaggle: %w; or download all files of %s/competitions/%s/data "+
			"by hand and name the archive, or the folder it was unpacked to: from = \"/…\"", slug, err, kaggleEndpoint, slug)
	}
	data, err := k.http.fetch(ctx, req, session.archive(slug))
	if err != nil {
		return Data{}, fmt.Errorf("from Kaggle: %w", session.explain(err, slug))
	}
	return data, nil
}

// kaggleSession is the API with a credential.
type kaggleSession struct {
	*credential
	http *HTTP
	api  string
}

func (k *Kaggle) session() (*kaggleSession, error) {
	api, err := kaggleAPI(k.env("KAGGLE_API_ENDPOINT"))
	if err != nil {
		return nil, err
	}
	c, err := k.credential()
	if err != nil {
		return nil, err
	}
	return &kaggleSession{credential: c, http: k.http, api: api}, nil
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

// kaggleError is a refusal by the API, with a remedy.
type kaggleError struct {
	err  error
	kind error // ErrCredential, ErrRules or ErrGone
	hint string
}

// Error implements error.
func (e *kaggleError) Error() string { return fmt.Sprintf("%v (%s)", e.err, e.hint) }

// Unwrap returns the refusal and its kind.
func (e *kaggleError) Unwrap() []error { return []error{e.err, e.kind} }

// explain returns the remedy for a refusal.
func (s *kaggleSession) explain(err error, slug string) error {
	var status *statusError
	if !errors.As(err, &status) || status.elsewhere {
		return err
	}
	switch status.code {
	case http.StatusUnauthorized:
		return &kaggleError{err, ErrCredential, "the credential is wrong or has been revoked: on kaggle.com choose Settings, API, Create New Token"}
	case http.StatusForbidden:
		return &kaggleError{err, ErrRules, fmt.Sprintf("join the competition and accept its rules at %s/competitions/%s/rules; "+
			"where that does not help, verify the account's telephone number in its settings", kaggleEndpoint, slug)}
	case http.StatusNotFound, http.StatusGone:
		return &kaggleError{err, ErrGone, fmt.Sprintf("there is no competition %q, or its data have been withdrawn", slug)}
	case http.StatusTooManyRequests:
		return &kaggleError{err, errBusy, "Kaggle limits the rate of requests; this one will be retried"}
	}
	return err
}

// errBusy is the kind of a temporary refusal.
var errBusy = errors.New("too many requests")
