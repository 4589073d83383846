package source

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// redacted replaces what is not shown, as in net/url.
const redacted = "xxxxx"

// Redact returns a URL without the parts that may be a credential: the user, the values
// of its parameters, whose names stay, and the fragment.
func Redact(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Host == "" && strings.Contains(address, "@") {
		return "(not an address)"
	}
	if u.User != nil {
		u.User = url.User(redacted)
	}
	u.RawQuery = redactQuery(u.RawQuery)
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

func redactQuery(query string) string {
	if query == "" {
		return ""
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, _, ok := strings.Cut(part, "="); ok {
			parts[i] = name + "=" + redacted
		} else {
			parts[i] = redacted
		}
	}
	return strings.Join(parts, "&")
}

// addresses finds URLs in error messages.
var addresses = pattern.New(`https?:[^\s"'<>]+`)

// anyAddress finds URLs of every kind.
var anyAddress = pattern.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// RedactText returns a string with every URL in it redacted.
func RedactText(text string) string { return anyAddress.Regexp().ReplaceAllStringFunc(text, Redact) }

// IsRedacted reports whether RedactText may have hidden something in a string.
func IsRedacted(text string) bool { return strings.Contains(text, redacted) }

// redactError returns err with the credentials in its URLs hidden. errors.Is
// and errors.As still work.
func redactError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // whoever shows the error adds the URL
	}
	text := addresses.Regexp().ReplaceAllStringFunc(err.Error(), Redact)
	if text == err.Error() {
		return err
	}
	return secret.Reworded(err, text)
}

// shortestParameter is the length of the shortest value in a URL that is
// treated as a credential wherever it occurs.
const shortestParameter = 8

// mask hides the credentials that the origin receives, by value and in the
// usual encodings: a server may echo them anywhere in its answer.
func (o *origin) mask() *secret.Set {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hide == nil {
		values := append(inAddress(o.url), o.secrets...)
		for _, v := range values { // quoting may have been applied twice
			values = append(values, strings.Trim(strconv.Quote(v), `"`))
		}
		o.hide = secret.New(values...)
	}
	return o.hide
}

// masked returns an error without the credentials.
func (o *origin) masked(err error) error { return o.mask().Error(err) }

// inAddress returns the parts of a URL that may be a credential.
func inAddress(address string) []string {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	var list []string
	if password, ok := u.User.Password(); ok {
		list = append(list, password, u.User.Username()+":"+password)
	} else if name := u.User.Username(); len(name) >= shortestParameter {
		list = append(list, name)
	}
	for _, values := range u.Query() {
		list = append(list, lists.Where(values, func(v string) bool { return len(v) >= shortestParameter })...)
	}
	if len(u.Fragment) >= shortestParameter {
		list = append(list, u.Fragment)
	}
	return list
}
