package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// hostile is a transcript whose files somebody made up.
func hostile(events, requests, responses string) fstest.MapFS {
	return fstest.MapFS{
		formatName: {Data: []byte(formatText)}, EventsFile: {Data: []byte(events)},
		requestsName: {Data: []byte(requests)}, responsesName: {Data: []byte(responses)},
	}
}

// readable is a file system whose files can be read at an offset, as those of a
// disk can.
type readable struct{ fstest.MapFS }

type readableFile struct {
	fs.File
	*bytes.Reader
}

func (f readableFile) Read(p []byte) (int, error) { return f.Reader.Read(p) }

func (r readable) Open(name string) (fs.File, error) {
	f, err := r.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	return readableFile{f, bytes.NewReader(r.MapFS[name].Data)}, nil
}

// everything reads all that can be read of a transcript, in all ways, and
// returns how many events it has.
func everything(folder fs.FS) (count int, err error) {
	r, err := OpenReader(folder)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for e, err := range r.Events() {
		if err != nil {
			return count, err
		}
		count++
		_, _ = r.Request(e)
		_, _ = r.Response(e)
		if stream, err := r.OpenResponse(e); err == nil {
			if _, err := io.Copy(io.Discard, stream); err != nil {
				return count, err
			}
		}
	}
	for _, err := range r.Turns() {
		if err != nil {
			return count, err
		}
	}
	p, err := NewPlayer(canonical, nil, r)
	if err != nil {
		return count, err
	}
	_, err = p.Find(ask("1", said{"user", "hello"}))
	if _, ok := errors.AsType[*Miss](err); err != nil && !ok {
		return count, err
	}
	return count, nil
}

func line(request, response string) string {
	return `{"sequence":1,"status":200,"provider":"openai","method":"POST","path":"/chat","asked":"m","request":{"pieces":` + request + `},"response":{"pieces":` + response + `}}` + "\n"
}

// TestHostileRanges reads ranges that lead out of the files, or to more than
// there is memory.
func TestHostileRanges(t *testing.T) {
	many := "[" + strings.Repeat("[0,1048576],", 1000) + "[0,1]]"
	for _, tt := range []struct{ name, pieces, err string }{
		{"before the file", "[[-1,3]]", "not in the file"},
		{"negative length", "[[3,-1]]", "not in the file"},
		{"behind the file", "[[1048577,1]]", "not in the file"},
		{"over the end", "[[1048570,10]]", "not in the file"},
		{"overflow", "[[9223372036854775807,9223372036854775807]]", "not in the file"},
		{"huge length", "[[0,9223372036854775807]]", "not in the file"},
		{"overlapping, a gigabyte together", many, "more than"},
		{"no pair", `[[1]]`, ""},
		{"too large a number", `[[1e30,1]]`, "damaged"},
		{"no number", `[["a",1]]`, "damaged"},
		{"overlapping", "[[0,10],[0,10],[5,10]]", ""},
	} {
		for _, text := range []string{line(tt.pieces, "[]"), line("[]", tt.pieces)} {
			data := strings.Repeat("x", 1<<20)
			_, err := everything(readable{hostile(text, data, data)})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.err)
			}
		}
	}
}

func TestHostileLines(t *testing.T) {
	for _, tt := range []struct {
		name, events string
		count        int
		err          string
	}{
		{"nothing", "", 0, ""},
		{"a line without an end", line("[]", "[]") + `{"sequence":2`, 1, ""},
		{"no JSON", line("[]", "[]") + "{\n", 1, "events.jsonl:2: the line is damaged"},
		{"a long line", line("[]", "[]") + strings.Repeat("x", maxLine+1) + "\n", 1, "longer than"},
		{"a long line without an end", strings.Repeat("x", 3*maxLine), 0, "longer than"},
		{"deep", strings.Repeat("[", 20000) + "\n", 0, "damaged"},
	} {
		count, err := everything(readable{hostile(tt.events, "", "")})
		if count != tt.count || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %d events, %v", tt.name, count, err)
		}
	}
	other := hostile("", "", "")
	other[formatName].Data = []byte("mleflow transcript 2\n")
	if _, err := everything(readable{other}); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("another version: %v", err)
	}
	if _, err := everything(os.DirFS(t.TempDir())); err == nil {
		t.Error("an empty folder is taken for a transcript")
	}
}

// TestMemoryOfReaders reads a transcript of many events whose requests are large
// and almost the same: memory does not grow with their number.
func TestMemoryOfReaders(t *testing.T) {
	count, limit := 1_500, uint64(48<<20)
	if os.Getenv("MLEFLOW_TRANSCRIPT") == "full" {
		count, limit = 100_000, 96<<20
	}
	dir := t.TempDir()
	w := write(t, dir, 1<<40, nil)
	said := []said{{"user", "begin"}}
	var sum int64
	for i := range count {
		if i%50 == 0 {
			said = said[:1]
			said[0].Text = fmt.Sprint("conversation ", i)
		}
		a := ask("1", said...)
		sum += int64(len(a.Body))
		record(w, a, fmt.Sprint("answer ", i))
		said = append(said, struct{ Role, Text string }{"assistant", fmt.Sprint("answer ", i)}, struct{ Role, Text string }{"tool", filler(i, 300)})
	}
	r := read(t, dir)
	for name, pass := range map[string]func() int{
		"events": func() (n int) {
			for range r.Events() {
				n++
			}
			return n
		},
		"turns": func() (n int) {
			for range r.Turns() {
				n++
			}
			return n
		},
		"player": func() int {
			p, err := NewPlayer(canonical, nil, r)
			if err != nil {
				t.Fatal(err)
			}
			return len(p.recordings)
		},
	} {
		start := time.Now()
		var got int
		peak := peakOf(func() { got = pass() })
		fmt.Printf("BenchmarkReaders/%s\t%d\t%.4g MB\t%.4g MiB-heap\t%.4g s\n", name, got, float64(sum)/1e6, float64(peak)/(1<<20), time.Since(start).Seconds())
		if got != count || peak > limit {
			t.Errorf("%s: %d of %d events, peak %d bytes", name, got, count, peak)
		}
	}
}

// peakOf is the most that the heap grew during f, as far as a look every few
// milliseconds shows.
func peakOf(f func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, uint64(0)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > before {
				peak = max(peak, m.HeapAlloc-before)
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond): // a sample, not a wait
			}
		}
	}()
	f()
	close(done)
	<-ended
	return peak
}

// FuzzRead reads transcripts whose files are anything.
func FuzzRead(f *testing.F) {
	body, _ := json.Marshal(chat{"m", "1", []said{{"user", "hello"}}})
	whole := fmt.Sprintf("[[0,%d]]", len(body))
	f.Add(line(whole, "[[0,2]]"), string(body), "ok")
	f.Add(line("[[0,5],[0,5],[3,9]]", "[[1,1]]")+line(whole, "[[0,2],[0,2]]"), string(body), "ok")
	f.Add(line("[[-1,9223372036854775807]]", "[[9223372036854775807,1]]"), string(body), "ok")
	f.Add("{}\n{}\n\n[", "", "")
	f.Fuzz(func(t *testing.T, events, requests, responses string) {
		_, _ = everything(readable{hostile(events, requests, responses)})
		// The same as what a killed process left.
		dir := t.TempDir()
		for name, f := range hostile(events, requests, responses) {
			if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, err := Open(dir, 1<<20, nil)
		if err != nil {
			return
		}
		add(w, Event{}, requests, responses)
		_ = w.Close()
		r, err := OpenReader(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var last *Event
		for e, err := range r.Events() {
			if err != nil {
				t.Fatal(err)
			}
			last = e
		}
		if last == nil || last.Request.Dropped+last.Response.Dropped > 0 {
			return // it was full
		}
		request, err := r.Request(last)
		if err != nil || string(request) != requests {
			t.Fatalf("request %q is %q, %v", requests, request, err)
		}
		if response, err := r.Response(last); err != nil || string(response) != responses {
			t.Fatalf("response %q is %q, %v", responses, response, err)
		}
	})
}
