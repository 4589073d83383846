package remote

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/remote/s3test"
)

// oddStore is a small store that speaks the protocol of S3 as far as it must. It
// refuses conditional writes, and its answers have no dates.
type oddStore struct {
	refuse func(http.ResponseWriter)
	mu     sync.Mutex
	files  map[string][]byte
	// meet lets that many conditional writes wait for each other, so that all of
	// them are under way when the first is refused.
	meet    sync.WaitGroup
	meeting int
	refused int
}

func startOdd(t *testing.T, meeting int, refuse func(http.ResponseWriter)) (s *oddStore, address string) {
	s = &oddStore{refuse: refuse, files: map[string][]byte{}, meeting: meeting}
	s.meet.Add(meeting)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for name, value := range s3test.Environ() {
		t.Setenv(name, value)
	}
	return s, s3test.Address(server.Listener.Addr().String(), "odd")
}

// ServeHTTP implements http.Handler.
func (s *oddStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Expires", "0")
	q, key := r.URL.Query(), strings.TrimPrefix(r.URL.Path, "/bucket/")
	if r.Header.Get("If-None-Match") != "" && s.refuse != nil {
		s.turnAway(w)
		return
	}
	s.mu.Lock()
	data, found := s.files[key]
	s.mu.Unlock()
	switch {
	case found && r.Header.Get("If-None-Match") != "":
		answerError(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case q.Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPut:
		w.Header().Set("ETag", `"x"`)
		s.put(key+q.Get("partNumber"), body)
	case r.Method == http.MethodPost: // of two parts
		s.mu.Lock()
		data = slices.Concat(s.files[key+"1"], s.files[key+"2"])
		s.mu.Unlock()
		s.put(key, data)
		fmt.Fprint(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket></CompleteMultipartUploadResult>")
	case q.Has("list-type"):
		s.list(w, q.Get("prefix"))
	case !found:
		answerError(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.files, key)
		s.mu.Unlock()
	default:
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}
}

func (s *oddStore) put(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[key] = data
}

// turnAway refuses a conditional write.
func (s *oddStore) turnAway(w http.ResponseWriter) {
	s.mu.Lock()
	s.refused++
	n := s.refused
	s.mu.Unlock()
	if n <= s.meeting {
		s.meet.Done()
		s.meet.Wait()
	}
	s.refuse(w)
}

func (s *oddStore) list(w http.ResponseWriter, prefix string) {
	type object struct {
		Key  string
		Size int
	}
	var all struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	s.mu.Lock()
	for key, data := range s.files {
		if strings.HasPrefix(key, prefix) {
			all.Contents = append(all.Contents, object{key, len(data)})
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all.Contents, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	_ = xml.NewEncoder(w).Encode(all)
}

func answerError(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
}

// twoParts is a folder whose pack goes up in two parts.
func twoParts(t *testing.T) string {
	dir := t.TempDir()
	for i := range partBytes/smallObject + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), noise(uint64(i), smallObject), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestWithoutConditions stores several results at once where conditional writes
// are refused in one way or another: all of them are there, and the store is
// soon asked without conditions.
func TestWithoutConditions(t *testing.T) {
	plain := func(status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { http.Error(w, "no", status) }
	}
	coded := func(status int, code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { answerError(w, status, code) }
	}
	for name, refuse := range map[string]func(http.ResponseWriter){
		"supported": nil, "501": plain(501), "501 NotImplemented": coded(501, "NotImplemented"), "400": plain(400),
		"400 InvalidArgument": coded(400, "InvalidArgument"), "405": coded(405, "MethodNotAllowed"),
		"403 of a proxy that removes the header": coded(403, "SignatureDoesNotMatch"), "500": coded(500, "InternalError"),
	} {
		t.Run(name, func(t *testing.T) {
			const results = 4
			s, address := startOdd(t, results, refuse)
			first := newMachine(t, address, quick)
			s.files["odd/"+formatKey] = []byte(formatText)
			var recs []*cache.Record
			var group sync.WaitGroup
			for i := range results {
				rec := first.recordOf(fmt.Sprint(i), cache.Outputs{"blob": {Ref: first.putBlob(noise(uint64(i), 2000))}})
				if i == 1 && (name == "400" || name == "501") {
					rec = first.made(fmt.Sprint(i), twoParts(t), nil)
				}
				group.Go(func() {
					if err := first.Push(t.Context(), rec); err != nil {
						t.Errorf("result %d: %v", i, err)
					}
				})
				recs = append(recs, rec)
			}
			group.Wait()
			second := newMachine(t, address, quick)
			for i, rec := range recs {
				if second.take(rec.Action) == nil {
					t.Errorf("result %d is a miss: %v", i, second.said())
				}
			}
			first.mustPush(first.made("more", sample(t, 1, 2, 1), noise(9, 100)))
			// Three rounds of all that run at once show what the store is like.
			if most := 3 * 3 * results; s.refused > most || refuse != nil && s.refused < results {
				t.Errorf("%d conditional writes were refused, want %d to %d", s.refused, results, most)
			}
			if said := first.said(); len(said) > 0 {
				t.Errorf("people were told %v", said)
			}
			if got, want := first.bucket.conditional(), refuse == nil; got != want {
				t.Errorf("conditional writes: %v, want %v", got, want)
			}
			desk := first.Desk()
			if err := desk.Create(t.Context(), "work/x", []byte("one")); err != nil {
				t.Errorf("create: %v", err)
			}
			if err := desk.Create(t.Context(), "work/x", []byte("two")); err != ErrExists { //nolint:errorlint // as it promises
				t.Errorf("create again: %v, want ErrExists", err)
			}
			if names, err := desk.List(t.Context(), "work"); err != nil || !slices.Equal(names, []string{"work/x"}) {
				t.Errorf("list: %v, %v", names, err)
			}
		})
	}
}
