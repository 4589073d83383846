package source

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/memory"
)

// spellings are how a server may write what it was told.
func spellings(text string) map[string]string {
	quoted, _ := json.Marshal(text)
	return map[string]string{
		"as it is": text, "hexadecimal": hex.EncodeToString([]byte(text)), "HEXADECIMAL": strings.ToUpper(hex.EncodeToString([]byte(text))),
		"base64": base64.StdEncoding.EncodeToString([]byte(text)), "base64 within": base64.URLEncoding.EncodeToString([]byte("x" + text + "y")),
		"address": url.QueryEscape(text), "JSON": string(quoted[1 : len(quoted)-1]),
	}
}

// echoes are the places of an answer that a server may put it in.
var echoes = map[string]func(w http.ResponseWriter, said string){
	"message": func(w http.ResponseWriter, said string) {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": 403, "message": strings.Repeat("x", 190) + " " + said})
	},
	"status": func(w http.ResponseWriter, said string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprintf(conn, "HTTP/1.1 403 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", said)
			conn.Close()
		}
	},
	"no status": func(w http.ResponseWriter, said string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			fmt.Fprintf(conn, "%s\r\n\r\n", said)
			conn.Close()
		}
	},
	"redirect to nowhere": func(w http.ResponseWriter, said string) {
		w.Header().Set("Location", "http://127.0.0.1:1/"+said)
		w.WriteHeader(http.StatusFound)
	},
	"redirect that is none": func(w http.ResponseWriter, said string) {
		w.Header().Set("Location", "http://["+said)
		w.WriteHeader(http.StatusFound)
	},
	"name": func(w http.ResponseWriter, said string) {
		w.Header().Set("Content-Disposition", `attachment; filename="`+said+`.zip"`)
		_, _ = w.Write([]byte("PK data"))
	},
	"encoding": func(w http.ResponseWriter, said string) {
		w.Header().Set("Content-Encoding", said)
		w.WriteHeader(http.StatusOK)
	},
	"range": func(w http.ResponseWriter, said string) {
		w.Header().Set("Content-Range", "bytes "+said)
		w.WriteHeader(http.StatusPartialContent)
	},
	"title": func(w http.ResponseWriter, said string) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><title>%s</title>", said)
	},
}

// TestEchoedCredential asks a server that sends back what it was told, in every
// spelling and at every place, and reads everything that people or files get.
func TestEchoedCredential(t *testing.T) {
	const token = "KGAT_0123456789+/abcdef\"x"
	for spelling, said := range spellings(token) {
		for place, answer := range echoes {
			t.Run(place+"/"+spelling, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if got := r.Header.Get("Authorization"); got != "Bearer "+token {
						t.Errorf("the server was told %q", got)
					}
					answer(w, said)
				}))
				defer server.Close()
				k := NewKaggle(quick())
				k.env = func(name string) string {
					return map[string]string{"KAGGLE_API_ENDPOINT": server.URL, "KAGGLE_API_TOKEN": token}[name]
				}
				var all strings.Builder
				data, err := k.Fetch(t.Context(), Request{Spec: Spec{Slug: "toy"}, Store: memory.New(), Log: func(format string, args ...any) { fmt.Fprintf(&all, format+"\n", args...) }})
				fmt.Fprintln(&all, err, data.Name)
				_, err = k.Inspect(t.Context(), Spec{Slug: "toy"})
				fmt.Fprintln(&all, err)
				// Half of it would be too much, too.
				for _, form := range spellings(token) {
					if part := form[:len(form)/2]; len(part) >= 8 && strings.Contains(all.String(), part) {
						t.Errorf("it has %q:\n%s", part, all.String())
					}
				}
			})
		}
	}
}

// TestEchoedPassword is the same for what is in an address.
func TestEchoedPassword(t *testing.T) {
	const password, signature = "pass+w0rd/1234", "s1gnature-5678"
	for spelling := range spellings(password) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, p, _ := r.BasicAuth()
			w.Header().Set("Content-Disposition", `attachment; filename="`+spellings(p)[spelling]+r.URL.Query().Get("sig")+`.csv"`)
			_, _ = w.Write([]byte("a,b\n"))
		}))
		address := strings.Replace(server.URL, "http://", "http://user:"+url.QueryEscape(password)+"@", 1) + "/data.csv?sig=" + signature
		data, err := quick().Fetch(t.Context(), Request{Spec: Spec{URL: address}, Store: memory.New()})
		server.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range append([]string{signature}, spellings(password)[spelling]) {
			if strings.Contains(data.Name, form) || !strings.Contains(data.Name, "***") {
				t.Errorf("%s: the file is called %q", spelling, data.Name)
			}
		}
	}
}

// TestPages answers with web pages where data are expected.
func TestPages(t *testing.T) {
	login := "<!DOCTYPE html>\n<html><head><title>Sign in \u2013 Example</title></head><form><input type=\"password\"></form></html>"
	front := "\n<!-- x --><html><title>Welcome\x1b[2J</title></html>"
	_, sum := newServer(t, 10).pins()
	tests := []struct {
		name, path, kind, body, md5 string
		want                        string // "" is none
		login                       bool
	}{
		{"login page", "/data.zip", "text/html; charset=utf-8", login, "", `"Sign in – Example"; this is a login page`, true},
		{"said to be data", "/data.zip", "application/zip", login, "", "this is a login page", true},
		{"pinned", "/data.zip", "text/html", login, sum, "this is a login page", true},
		{"pinned and said to be data", "/data.zip", "", login, sum, "this is a login page", true},
		{"another page", "/data.csv", "text/html", front, "", `"Welcome [2J"; open the URL in a browser`, false},
		{"no name", "/download?id=3", "text/html", front, "", "a web page instead of the file", false},
		{"a page that was asked for", "/page.html", "text/html", front, "", "", false},
		{"data said to be a page", "/data.csv", "text/html", "a,b\n1,2\n", "", "", false},
		{"text of XML", "/data.xml", "text/xml", "<?xml version=\"1.0\"?><a/>", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header()["Content-Type"] = []string{tt.kind}
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			spec := Spec{URL: server.URL + tt.path, MD5: tt.md5}
			store := memory.New()
			data, err := quick().Fetch(t.Context(), Request{Spec: spec, Store: store})
			if tt.want == "" {
				if err != nil || string(read(t, store, data.Ref)) != tt.body {
					t.Fatalf("got %v", err)
				}
				return
			}
			var temporary *TemporaryError
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrCredential) != tt.login || errors.As(err, &temporary) || errors.Is(err, ErrMismatch) {
				t.Errorf("got %v, want %q, for good", err, tt.want)
			}
			if asked > 2 {
				t.Errorf("%d requests", asked)
			}
			if _, err := quick().Inspect(t.Context(), spec); strings.HasPrefix(tt.kind, "text/html") && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("asked before: %v", err)
			}
		})
	}
}
