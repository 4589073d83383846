package source

import (
	"errors"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
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
	return &redactedError{text: text, err: err}
}

type redactedError struct {
	text string
	err  error
}

// Error implements error.
func (e *redactedError) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e *redactedError) Unwrap() error { return e.err }
