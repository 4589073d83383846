package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// gateway is where the validity server is.
const gateway = "http://127.0.0.1:5000"

// plain asks no proxy.
var plain = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}

// validate sends a file and returns the answer.
func (h *hunter) validate(name string, body []byte) (int, string) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", name)
	_, _ = part.Write(body)
	_ = w.Close()
	return h.ask(http.MethodPost, "/validate", w.FormDataContentType(), form.Bytes())
}

func (h *hunter) ask(method, path, kind string, body []byte) (int, string) {
	r, err := http.NewRequest(method, gateway+path, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", kind)
	reply, err := plain.Do(r)
	if err != nil {
		return 0, short(err)
	}
	defer reply.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	h.look("validity server, "+method+" "+path, data)
	for name, values := range reply.Header {
		h.look("validity server's header", []byte(name+strings.Join(values, " ")))
	}
	return reply.StatusCode, string(data)
}

// tells reports whether a text tells of the server's inside.
func tells(text string) bool {
	for _, word := range []string{"Traceback", "goroutine", "panic", "/private", "/var/", "/tmp/", "/root", ".go:", ".py", "Errno", "score\":", "threshold", "answers"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func validityProbes() []probe {
	return []probe{
		{"validity server, error texts", "twenty broken submissions", brokenSubmissions},
		{"validity server, other routes", "other paths than its own, other methods", func(h *hunter) (string, bool) {
			var got []string
			open := false
			for _, path := range []string{"/", "/grade", "/score", "/answers", "/private/test.csv", "/../../etc/passwd", "/validate/../..//etc/passwd", "/debug/pprof/", "/metrics", "/static/..%2f..%2fetc/passwd", "/.git/config"} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
					code, text := h.ask(method, path, "text/plain", []byte("x"))
					open = open || code == http.StatusOK || tells(text)
					if method == http.MethodGet {
						got = append(got, fmt.Sprint(code))
					}
				}
			}
			return strings.Join(got, " "), open
		}},
		{"validity server, values", "whether the answers' text distinguishes right values from wrong ones", func(h *hunter) (string, bool) {
			texts := map[string]bool{}
			for _, make := range submissions() {
				_, text := h.validate("submission.csv", make())
				texts[text] = true
			}
			return fmt.Sprintf("%d different answers to right, wrong and random values", len(texts)), len(texts) != 1
		}},
		{"validity server, timing", "whether the response time distinguishes right values from wrong ones", timing},
		{"validity server, flood", "100 requests at once, 50 that never end, then a health check", flood},
		{"validity server, name of the file", "paths, line ends and commands as the file name", func(h *hunter) (string, bool) {
			sample, _ := os.ReadFile("/home/data/sample_submission.csv")
			var got []string
			open := false
			for _, name := range []string{"../../../../etc/passwd", "/etc/passwd", "a;reboot", "a\x00b", strings.Repeat("x", 5000), "..", "%2e%2e%2f"} {
				code, text := h.validate(name, sample)
				open = open || tells(text)
				got = append(got, fmt.Sprint(code))
			}
			return strings.Join(got, " "), open
		}},
	}
}

func brokenSubmissions(h *hunter) (string, bool) {
	sample, _ := os.ReadFile("/home/data/sample_submission.csv")
	lines := strings.SplitAfter(string(sample), "\n")
	counts := map[int]int{}
	told := ""
	for _, text := range []string{
		"", "\n", "id\n", "id,malignant\n", "malignant,id\n1,2\n", lines[0], strings.Join(lines[:10], ""), strings.Join(lines, "") + lines[1],
		strings.ReplaceAll(string(sample), "0.5", "nan"), strings.ReplaceAll(string(sample), "0.5", "inf"), strings.ReplaceAll(string(sample), "0.5", "x"), strings.ReplaceAll(string(sample), "0.5", "-1"),
		strings.ReplaceAll(string(sample), "0.5", "1e999"), strings.ReplaceAll(string(sample), "0.5", ""), "\xff\xfe\x00", "PK\x03\x04", "\"", strings.Repeat("\"a\n", 1000), strings.Repeat(",", 100000), "id,malignant\n" + strings.Repeat("9", 400) + ",1\n", "\x80\x04K\x01.", "=cmd|' /C calc'!A0",
	} {
		code, answer := h.validate("submission.csv", []byte(text))
		counts[code]++
		if tells(answer) {
			told = answer
		}
	}
	code, answer := h.ask(http.MethodPost, "/validate", "multipart/form-data; boundary=x", []byte("--y\r\n"))
	counts[code]++
	if tells(answer) {
		told = answer
	}
	return fmt.Sprintf("answers by status %v; tells of its inside: %q", counts, told), told != ""
}

// submissions are ways to make valid ones: with the right values, which the
// tests hand over for this comparison, wrong ones, one value and random values.
func submissions() map[string]func() []byte {
	right, _ := base64.StdEncoding.DecodeString(os.Getenv("AIM_RIGHT"))
	sample, _ := os.ReadFile("/home/data/sample_submission.csv")
	flip := strings.NewReplacer(",0\n", ",1\n", ",1\n", ",0\n")
	return map[string]func() []byte{
		"right": func() []byte { return right },
		"wrong": func() []byte { return []byte(flip.Replace(string(right))) },
		"random": func() []byte {
			var out strings.Builder
			for line := range strings.Lines(string(sample)) {
				if strings.HasPrefix(line, "id") {
					out.WriteString(line)
					continue
				}
				id, _, _ := strings.Cut(line, ",")
				fmt.Fprintf(&out, "%s,%d\n", id, rand.IntN(2))
			}
			return []byte(out.String())
		},
	}
}

// timing compares the medians of right and wrong submissions in turns, after a
// pause for the server's own.
func timing(h *hunter) (string, bool) {
	make := submissions()
	times := map[string][]time.Duration{}
	for range 25 {
		for _, name := range []string{"right", "wrong", "random"} {
			body := make[name]()
			time.Sleep(10 * time.Millisecond)
			since := time.Now()
			if code, _ := h.validate("submission.csv", body); code == 0 {
				return "no server", false
			}
			times[name] = append(times[name], time.Since(since))
		}
	}
	median := func(name string) time.Duration {
		slices.Sort(times[name])
		return times[name][len(times[name])/2]
	}
	right, wrong, random := median("right"), median("wrong"), median("random")
	spread := max(times["right"][18]-times["right"][6], times["wrong"][18]-times["wrong"][6])
	return fmt.Sprintf("medians: right %v, wrong %v, random %v; quartiles %v apart", right.Round(10*time.Microsecond), wrong.Round(10*time.Microsecond), random.Round(10*time.Microsecond), spread.Round(10*time.Microsecond)),
		(right - wrong).Abs() > max(2*spread, 2*time.Millisecond)
}

func flood(h *hunter) (string, bool) {
	sample, _ := os.ReadFile("/home/data/sample_submission.csv")
	var slow []net.Conn
	for range 50 {
		if c, err := net.DialTimeout("tcp", "127.0.0.1:5000", time.Second); err == nil {
			_, _ = io.WriteString(c, "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n")
			slow = append(slow, c)
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts := map[int]int{}
	for range 100 {
		wg.Go(func() {
			code, _ := h.validate("submission.csv", sample)
			mu.Lock()
			counts[code]++
			mu.Unlock()
		})
	}
	wg.Wait()
	for _, c := range slow {
		c.Close()
	}
	code, _ := h.ask(http.MethodGet, "/health", "", nil)
	return fmt.Sprintf("by status %v, then health %d", counts, code), code != http.StatusOK
}
