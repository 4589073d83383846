package source

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/secret"
)

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
		for _, v := range values {
			if len(v) >= shortestParameter {
				list = append(list, v)
			}
		}
	}
	if len(u.Fragment) >= shortestParameter {
		list = append(list, u.Fragment)
	}
	return list
}
