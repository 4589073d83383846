package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// TestEncodings masks a secret in the encodings that programs put it in, here
// by the standard library, at every place that matters.
func TestEncodings(t *testing.T) {
	const value = `sk-/+?&é"<5f1c>9a~`
	s := New(value)
	text, _ := json.Marshal(map[string]string{"k": value})
	for _, in := range []string{
		value, string(text), url.QueryEscape(value), url.PathEscape(value), "https://x/?" + url.Values{"key": {value}}.Encode(),
		fmt.Sprintf("%x", value), fmt.Sprintf("%X", value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value)),
		base64.StdEncoding.EncodeToString([]byte("user:" + value)), base64.StdEncoding.EncodeToString([]byte("users:" + value + "more")),
		base64.RawURLEncoding.EncodeToString([]byte("u:" + value + "\n")),
	} {
		out := s.Mask(in)
		if !strings.Contains(out, mask) {
			t.Errorf("%s is written as %s", in, out)
		}
		// Of base64 at most the characters at both ends are left, of which
		// each has bits of the neighbours.
		if left := strings.Trim(strings.ReplaceAll(out, mask, ""), "="); len(left) > len(in)/2+2 {
			t.Errorf("%s is written as %s", in, out)
		}
		var b bytes.Buffer
		w := NewWriter(&b, s)
		for i := range len(in) {
			if _, err := w.Write([]byte{in[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil || b.String() != out {
			t.Errorf("%s byte by byte is written as %s", in, b.String())
		}
	}
	for _, in := range []string{"", "hello", "c2stLys", "736b2d", strings.Repeat("QUFB", 100)} {
		if out := s.Mask(in); out != in {
			t.Errorf("%q is written as %q", in, out)
		}
	}
	// Short values are words: only themselves are masked.
	if out := New("abc123").Mask("abc123 616263313233"); out != "*** 616263313233" {
		t.Errorf("short value: %s", out)
	}
}
