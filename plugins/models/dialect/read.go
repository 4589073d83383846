package dialect

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// statuses are the HTTP statuses of errors.
var statuses = map[Reason]int{
	BadKey: http.StatusUnauthorized, NotAllowed: http.StatusForbidden, TooLarge: http.StatusRequestEntityTooLarge, RateLimited: http.StatusTooManyRequests,
	OverBudget: http.StatusPaymentRequired, Unreachable: http.StatusBadGateway, NoRecording: http.StatusConflict,
	NoSocket: http.StatusUpgradeRequired,
}

// Key implements Dialect.
func (d *protocol) Key(header http.Header, query url.Values) string {
	keys := []string{query.Get(d.KeyQuery)}
	twice := len(query[d.KeyQuery]) > 1
	for _, name := range d.KeyHeaders {
		twice = twice || len(header.Values(name)) > 1
		key := header.Get(name)
		if name == "Authorization" {
			key = bearer(key)
		}
		keys = append(keys, key)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "" })
	if twice || len(keys) == 0 || slices.ContainsFunc(keys, func(k string) bool { return k != keys[0] }) {
		return ""
	}
	return keys[0]
}

// begin performs the steps that are common to all dialects with the model in
// the body. It returns no check if the body is missing or not inspected.
func (d *protocol) begin(in Incoming, grants Grants) (c *check, r *Request, err error) {
	e, model, err := d.endpoint(in.Method, in.Path)
	if err != nil {
		return nil, nil, err
	}
	if c, r, err = d.check(e, in, grants); err != nil {
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
func (d *protocol) endpoint(method, path string) (*endpoint, string, error) {
	if !plainPath.Regexp().MatchString(path) {
		return nil, "", noEndpoint(method, path)
	}
	if e, ok := d.Endpoints[method+" "+path]; ok {
		return e, "", nil
	}
	if model, ok := strings.CutPrefix(path, "/v1/models/"); ok && method == http.MethodGet {
		return d.Endpoints["GET /v1/models"], model, nil
	}
	return d.behind(method, path)
}

// behind finds an endpoint that needs an ability.
func (d *protocol) behind(method, path string) (*endpoint, string, error) {
	for prefix, e := range d.Guarded {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return e, "", nil
		}
	}
	return nil, "", noEndpoint(method, path)
}

// check checks a request against its endpoint.
func (d *protocol) check(e *endpoint, in Incoming, grants Grants) (*check, *Request, error) {
	r := &Request{Operation: e.Operation, Free: e.Free, Unmetered: e.Unmetered, Body: in.Body, Choices: 1, Query: url.Values{}}
	if e.Ability != "" && !grants[e.Ability] {
		return nil, nil, lacks(e.Ability, "This endpoint")
	}
	for name, values := range in.Query {
		switch {
		case name == d.KeyQuery:
		case e.Ability == "" && !slices.Contains(e.Query, name):
			return nil, nil, lacks(UnknownFields, fmt.Sprintf("the query parameter %.100q", name))
		case len(values) != 1:
			return nil, nil, badRequest("the query parameter %.100q is given %d times", name, len(values))
		default:
			r.Query[name] = values
		}
	}
	r.Header = d.forwarded(in.Header)
	if e.Ability != "" {
		r.Hidden = true
		if t := in.Header.Get("Content-Type"); t != "" {
			r.Header.Set("Content-Type", t)
		}
		return nil, r, nil
	}
	if e.body == nil {
		if len(in.Body) > 0 {
			return nil, nil, badRequest("a %s request has no body", in.Method)
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
	c := &check{document: doc, grants: grants, camel: d.Camel}
	if doc.nodes[0].kind != object {
		return nil, nil, c.bad("no object")
	}
	if refused := e.body.check(c, 0); refused != nil {
		return nil, nil, refused
	}
	r.Hidden, r.Tools = c.hidden, c.tools
	r.InputTokens = int64(len(in.Body)) - c.mediaBytes + c.images*d.ImageTokens + d.ExtraTokens
	return c, r, nil
}

// forwarded returns the headers that are forwarded.
func (d *protocol) forwarded(header http.Header) http.Header {
	out := http.Header{}
	for name, values := range header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		for _, known := range d.Headers {
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

// plainPath matches the paths that all readers understand the same way: without
// escapes and without empty or dotted segments.
var plainPath = pattern.New(`^(?:/\.*[A-Za-z0-9_~:@-][A-Za-z0-9_.~:@-]*)+$`)

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

// limits returns the largest limit of these members. It keeps the first error in c.err.
func (c *check) limits(i int, names ...string) (most int64) {
	for _, name := range names {
		n, err := c.limit(i, name)
		c.err = cmp.Or(c.err, err)
		most = max(most, n)
	}
	return most
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
	name := c.memberText(0, "model")
	if name == "" || len(name) > 200 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", badRequest("model must be the name of a model")
	}
	return name, nil
}

// edit is a new text for the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// splice returns the text with edits, which do not overlap.
func splice(text []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return text
	}
	edits = slices.SortedStableFunc(slices.Values(edits), func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, text[at:]...)
}

// bearer extracts the key from an Authorization header.
func bearer(value string) string {
	scheme, key, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// SetKey implements Dialect.
func (d *protocol) SetKey(header http.Header, query url.Values, key string) {
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie"} {
		header.Del(name)
	}
	for _, name := range []string{"key", "access_token", "oauth_token", "api_key"} {
		delete(query, name)
	}
	place, longest := d.table.SetKey[""], 0
	for prefix, own := range d.table.SetKey {
		if strings.HasPrefix(key, prefix) && len(prefix) > longest {
			place, longest = own, len(prefix)
		}
	}
	header.Set(place[0], strings.Replace(place[1], "{key}", key, 1))
}
