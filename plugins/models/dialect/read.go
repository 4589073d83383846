package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// endpoint is one of a provider's paths.
type endpoint struct {
	method    string
	operation Operation
	// body is the shape of the body, or nil if there is none.
	body shape
	// query are the allowed query parameters.
	query []string
	free  bool
	// ability is the ability that the endpoint itself needs. Bodies of such an
	// endpoint are not checked, since they may be files.
	ability   Ability
	unmetered bool
}

// rules describe how a dialect reads requests and writes errors.
type rules struct {
	name, baseURL, keyPrefix string
	// endpoints are the paths that are always forwarded, by method and path.
	// guarded are prefixes of the paths that need an ability.
	endpoints, guarded map[string]endpoint
	// errors are the types of errors; a missing one is that of BadRequest.
	// codes are additional codes of some errors. overBudget is the status of
	// OverBudget if it differs from statuses.
	errors, codes map[Reason]string
	overBudget    int
	// headers are forwarded. A trailing * matches any suffix.
	headers []string
	// keyHeaders are the headers that may hold the key. keyQuery is the
	// parameter that may hold it, or "".
	keyHeaders []string
	keyQuery   string
	camel      bool
	// imageTokens is the maximum for one image. extraTokens is the maximum that
	// the provider adds to a request, such as the text that explains tools.
	imageTokens, extraTokens int64
}

// statuses are the HTTP statuses of errors.
var statuses = map[Reason]int{
	BadKey: http.StatusUnauthorized, NotAllowed: http.StatusForbidden, TooLarge: http.StatusRequestEntityTooLarge, RateLimited: http.StatusTooManyRequests,
	OverBudget: http.StatusPaymentRequired, Unreachable: http.StatusBadGateway, NoRecording: http.StatusConflict,
	NoSocket: http.StatusUpgradeRequired,
}

// Name implements Dialect.
func (u *rules) Name() string { return u.name }

// BaseURL implements Dialect.
func (u *rules) BaseURL() string { return u.baseURL }

// KeyPrefix implements Dialect.
func (u *rules) KeyPrefix() string { return u.keyPrefix }

// failure returns the status and the type of an error.
func (u *rules) failure(r Reason) (status int, kind string) {
	if status = cmp.Or(statuses[r], http.StatusBadRequest); r == OverBudget {
		status = cmp.Or(u.overBudget, status)
	}
	return status, cmp.Or(u.errors[r], u.errors[BadRequest])
}

// Key implements Dialect.
func (u *rules) Key(header http.Header, query url.Values) string {
	keys := []string{query.Get(u.keyQuery)}
	twice := len(query[u.keyQuery]) > 1
	for _, name := range u.keyHeaders {
		twice = twice || len(header.Values(name)) > 1
		key := header.Get(name)
		if name == "Authorization" {
			key = bearer(key)
		}
		keys = append(keys, key)
	}
	if twice {
		return ""
	}
	return oneKey(keys...)
}

// begin performs the steps that are common to all dialects with the model in
// the body. It returns no check if the body is missing or not inspected.
func (u *rules) begin(in Incoming, grants Grants) (c *check, r *Request, err error) {
	e, model, err := u.endpoint(in.Method, in.Path)
	if err != nil {
		return nil, nil, err
	}
	if c, r, err = u.read(e, in, grants); err != nil {
		return nil, nil, err
	}
	if r.Model = model; c == nil {
		return nil, r, nil
	}
	if r.Model, err = c.model(); err != nil {
		return nil, nil, err
	}
	r.Stream, err = c.flag(0, "stream")
	return c, r, err
}

// endpoint finds an endpoint, and the model if its path names one.
func (u *rules) endpoint(method, path string) (*endpoint, string, error) {
	if !plainPath(path) {
		return nil, "", noEndpoint(method, path)
	}
	if e, ok := u.endpoints[method+" "+path]; ok {
		e.method = method
		return &e, "", nil
	}
	if model, ok := strings.CutPrefix(path, "/v1/models/"); ok && method == http.MethodGet {
		e := u.endpoints["GET /v1/models"]
		e.method = method
		return &e, model, nil
	}
	return behind(u.guarded, method, path)
}

// read checks a request against its endpoint.
func (u *rules) read(e *endpoint, in Incoming, grants Grants) (*check, *Request, error) {
	r := &Request{Operation: e.operation, Free: e.free, Unmetered: e.unmetered, Body: in.Body, Choices: 1, Query: url.Values{}}
	if e.ability != "" && !grants[e.ability] {
		return nil, nil, lacks(e.ability, "This endpoint")
	}
	for name, values := range in.Query {
		switch {
		case name == u.keyQuery:
		case e.ability == "" && !slices.Contains(e.query, name):
			return nil, nil, lacks(UnknownFields, fmt.Sprintf("the query parameter %.100q", name))
		case len(values) != 1:
			return nil, nil, badRequest("the query parameter %.100q is given %d times", name, len(values))
		default:
			r.Query[name] = values
		}
	}
	r.Header = u.forwarded(in.Header)
	if e.ability != "" {
		r.Hidden = true
		if t := in.Header.Get("Content-Type"); t != "" {
			r.Header.Set("Content-Type", t)
		}
		return nil, r, nil
	}
	if e.body == nil {
		if len(in.Body) > 0 {
			return nil, nil, badRequest("a %s request has no body", e.method)
		}
		return nil, r, nil
	}
	if err := jsonOnly(in.Header); err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	doc, err := parse(in.Body)
	if err != nil {
		return nil, nil, badRequest("the body cannot be read as JSON: %v", err)
	}
	c := &check{document: doc, grants: grants, camel: u.camel}
	if doc.nodes[0].kind != object {
		return nil, nil, c.bad("no object")
	}
	if refused := e.body.check(c, 0); refused != nil {
		return nil, nil, refused
	}
	r.Hidden, r.Tools = c.hidden, c.tools
	r.InputTokens = int64(len(in.Body)) - c.mediaBytes + c.images*u.imageTokens + u.extraTokens
	return c, r, nil
}

// forwarded returns the headers that are forwarded.
func (u *rules) forwarded(header http.Header) http.Header {
	out := http.Header{}
	for name, values := range header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		for _, known := range u.headers {
			prefix, open := strings.CutSuffix(known, "*")
			if name == known || open && strings.HasPrefix(name, prefix) {
				out[name] = append(out[name], values...)
			}
		}
	}
	return out
}

// jsonOnly refuses bodies that the provider might not read as JSON in UTF-8.
func jsonOnly(header http.Header) error {
	values := header.Values("Content-Type")
	if len(values) == 0 {
		return nil
	}
	kind, parameters, err := mime.ParseMediaType(values[0])
	charset, given := parameters["charset"]
	if len(values) > 1 || err != nil || kind != "application/json" || given && !strings.EqualFold(charset, "utf-8") {
		return badRequest("the Content-Type is %.200q; it must be application/json", values)
	}
	return nil
}

func badRequest(format string, args ...any) *Refusal {
	return &Refusal{Reason: BadRequest, Text: fmt.Sprintf(format, args...)}
}

// plainPath reports whether all readers understand a path the same way: it has
// no escapes and no empty or dotted segments.
func plainPath(path string) bool {
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if strings.Trim(segment, ".") == "" {
			return false
		}
	}
	for i := range len(path) {
		c := path[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("/-_.~:@", rune(c)) {
			return false
		}
	}
	return true
}

// noEndpoint is the refusal of a path that is in no table.
func noEndpoint(method, path string) *Refusal {
	return &Refusal{Reason: NotAllowed, Ability: UnknownFields, Text: fmt.Sprintf("%.20s %.200s is no endpoint that the gateway passes on", method, path)}
}

// limit returns the value of a limiting member, or 0 without a limit. Providers
// treat null, 0 and negative numbers as no limit.
func (c *check) limit(i int, name string) (int64, error) {
	m, ok := c.find(i, name)
	if !ok {
		return 0, nil
	}
	raw := string(c.bytes(m))
	n, err := strconv.ParseInt(raw, 10, 48)
	if c.nodes[m].kind != number || err != nil {
		return 0, badRequest("%s is %.50s; it must be an integer", name, raw)
	}
	return max(n, 0), nil
}

// limits returns the largest value of these members.
func (c *check) limits(i int, names ...string) (most int64, err error) {
	for _, name := range names {
		n, err := c.limit(i, name)
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return most, nil
}

// flag returns the value of a boolean member. A null is false.
func (c *check) flag(i int, name string) (bool, error) {
	m, ok := c.find(i, name)
	if !ok {
		return false, nil
	}
	if c.nodes[m].kind != boolean {
		return false, badRequest("%s is %.50s; it must be true or false", name, c.bytes(m))
	}
	return c.raw[c.nodes[m].start] == 't', nil
}

// model returns the model named in the body.
func (c *check) model() (string, error) {
	m, ok := c.find(0, "model")
	name := ""
	if ok {
		name = c.text(m)
	}
	if name == "" || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", badRequest("model must be the name of a model")
	}
	return name, nil
}

// splice replaces the bytes from start to end with insert.
func splice(body []byte, start, end int32, insert string) []byte {
	return slices.Concat(body[:start], []byte(insert), body[end:])
}

// bearer extracts the key from an Authorization header.
func bearer(value string) string {
	scheme, key, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// oneKey returns the key if all places that have one agree, and "" otherwise.
func oneKey(keys ...string) string {
	key := ""
	for _, k := range keys {
		if k == "" {
			continue
		}
		if key != "" && k != key {
			return ""
		}
		key = k
	}
	return key
}

// dropKeys removes all headers and parameters that could hold a key.
func dropKeys(header http.Header, query url.Values) {
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie"} {
		header.Del(name)
	}
	for _, name := range []string{"key", "access_token", "oauth_token", "api_key"} {
		delete(query, name)
	}
}

// compact joins the pieces of an error's JSON text.
func compact(pieces ...string) []byte {
	var b bytes.Buffer
	for _, p := range pieces {
		b.WriteString(p)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
