package secret

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
)

// inUTF16 writes a text in UTF-16.
func inUTF16(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// each writes every byte or character of a text by a format.
func each[T byte | uint16](text []T, format string) string {
	var out strings.Builder
	for _, c := range text {
		fmt.Fprintf(&out, format, c)
	}
	return out.String()
}

// TestForms masks and finds a secret in the forms that programs put it in, however
// the text is split into writes.
func TestForms(t *testing.T) {
	const value = `sk-/+?&é"<5f1c>9a~ 𝄞\z`
	s := New(value)
	doc, _ := json.Marshal(map[string]string{"k": value})
	std := base64.StdEncoding.EncodeToString
	for name, in := range map[string]string{
		"itself": value, "JSON": string(doc), "query": url.QueryEscape(value), "path": url.PathEscape(value), "URL": "https://x/?" + url.Values{"key": {value}}.Encode(),
		"every byte in a URL": each([]byte(value), "%%%02X"), "in small letters": each([]byte(value), "%%%02x"), "some bytes in a URL": "s%6b" + url.QueryEscape(value[2:]),
		"every byte in a string": each([]byte(value), `\x%02x`), "every character in a string": each(utf16.Encode([]rune(value)), `\u%04x`), "in capitals": each(utf16.Encode([]rune(value)), `\u%04X`),
		"Python": `sk-/+?&\xc3\xa9"<5f1c>9a~ \U0001d11e\\z`, "slashes": strings.ReplaceAll(string(doc), "/", `\/`),
		"hexadecimal": fmt.Sprintf("%x", value), "capital hexadecimal": fmt.Sprintf("%X", value),
		"base64": std([]byte(value)), "base64 for URLs": base64.URLEncoding.EncodeToString([]byte(value)), "second phase": std([]byte("user:" + value)), "third phase": std([]byte("users:" + value + "more")),
		"base64 and a line end": base64.RawURLEncoding.EncodeToString([]byte("u:" + value + "\n")), "base64 in a URL": url.QueryEscape(std([]byte(value))),
		"base64 in lines": wrap(std([]byte(strings.Repeat("-", 50)+value+strings.Repeat("-", 50))), 19, "\r\n"), "base64 in lines in JSON": wrap(std([]byte(value)), 19, `\n`),
		"base32": base32.StdEncoding.EncodeToString([]byte(value)), "base32 after one": base32.StdEncoding.EncodeToString([]byte("." + value)), "base32 after four": base32.StdEncoding.EncodeToString([]byte("...." + value + "..")),
		"UTF-16 LE": inUTF16("a "+value+" b", binary.LittleEndian), "UTF-16 BE": inUTF16("\ufeff"+value, binary.BigEndian),
	} {
		out := s.Mask(in)
		if !strings.Contains(out, mask) {
			t.Errorf("%s: %q is written as %q", name, in, out)
		}
		// Of base64 and base32 at most the characters at both ends are left, which
		// share bits with the neighbours.
		if left := strings.Trim(strings.ReplaceAll(out, mask, ""), "=-"); len(left) > len(in)/2+2 && !strings.Contains(name, "lines") {
			t.Errorf("%s: %q is written as %q", name, in, out)
		}
		for _, size := range []int{1, 2, 3, 7} {
			var b bytes.Buffer
			w, g, found := NewWriter(&b, s), NewGuard(s), error(nil)
			for rest := []byte(in); len(rest) > 0; {
				n := min(size, len(rest))
				if _, err := w.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				if _, err := g.Write(rest[:n]); err != nil {
					found = err
				}
				rest = rest[n:]
			}
			if err := w.Flush(); err != nil || b.String() != out || found == nil {
				t.Errorf("%s, %d bytes at once: %q is written as %q, found: %v", name, size, in, b.String(), found)
			}
		}
	}
	for _, in := range []string{"", "hello", "c2stLys", "736b2d", strings.Repeat("QUFB", 100), `100%`, `50%|`, `C:\users\x`, `\`, `\u`, `\ud834`, "%7", `sk-/+?&`} {
		g := NewGuard(s)
		if _, err := g.Write([]byte(in)); s.Mask(in) != in || err != nil {
			t.Errorf("%q is written as %q, found: %v", in, s.Mask(in), err)
		}
	}
}

// wrap breaks a text into lines.
func wrap(text string, width int, end string) string {
	var out strings.Builder
	for len(text) > width {
		out.WriteString(text[:width] + end)
		text = text[width:]
	}
	return out.String() + text
}

// FuzzForms masks a text as a whole and in pieces, and finds what it masks.
func FuzzForms(f *testing.F) {
	f.Add("a sk-proj-x9K2mQ7vLz b", 3)
	f.Add(`\u0073k-pr%6fj-x9K2mQ7vLz\`, 1)
	s := New("sk-proj-x9K2mQ7vLz", `9\\x "%41+é`)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = max(1, size%64)
		whole := s.Mask(text)
		var b bytes.Buffer
		w, g, found := NewWriter(&b, s), NewGuard(s), false
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			_, _ = w.Write(rest[:n])
			_, err := g.Write(rest[:n])
			found, rest = found || err != nil, rest[n:]
		}
		if _ = w.Flush(); b.String() != whole {
			t.Errorf("in pieces %q, as a whole %q", b.String(), whole)
		}
		if found != (whole != text) && !strings.Contains(text, mask) {
			t.Errorf("%q: masked as %q, found %v", text, whole, found)
		}
	})
}
