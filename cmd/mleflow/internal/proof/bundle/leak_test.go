package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/memory"
)

// TestLeaks looks for a credential in the encodings that are cheap to decode, and in
// those that docs/trust.md says are not found.
func TestLeaks(t *testing.T) {
	const value = "sk-proj-x9K2mQ7vLz"
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + value))
	var little, escaped, percent strings.Builder
	for _, unit := range utf16.Encode([]rune(value)) {
		little.Write([]byte{byte(unit), byte(unit >> 8)})
		escaped.WriteString(`\u00` + hex.EncodeToString([]byte{byte(unit)}))
		percent.WriteString("%" + hex.EncodeToString([]byte{byte(unit)}))
	}
	zip := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return b.String()
	}
	store := memory.New()
	l := leaks{secret.New(value, "none"), store, map[digest.ContentID]string{}}
	for name, tt := range map[string]struct {
		text  string
		found bool
	}{
		"itself": {value, true}, "base64": {encoded, true}, "base32": {base32.StdEncoding.EncodeToString([]byte("." + value)), true},
		"hexadecimal": {hex.EncodeToString([]byte(value)), true}, "UTF-16": {little.String(), true}, "escapes": {escaped.String(), true},
		"percent": {percent.String(), true}, "query": {url.QueryEscape(value), true}, "gzip": {zip("x " + value), true}, "base64 in gzip": {zip(encoded), true},
		"the middle of a large file": {strings.Repeat("x", 256<<10-5) + value, true},
		"a word":                     {`reduction="none"`, false}, "cut gzip": {zip(strings.Repeat("x", 1<<16) + value)[:40], false}, "gzip twice": {zip(zip(value)), false},
		"base64 twice": {base64.StdEncoding.EncodeToString([]byte(encoded)), false}, "split": {value[:9] + " " + value[9:], false},
	} {
		ref, err := cache.PutBytes(t.Context(), store, []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if why := l.refuse(t.Context(), ref.ID); (why != "") != tt.found {
			t.Errorf("%s: %q", name, why)
		}
	}
}
