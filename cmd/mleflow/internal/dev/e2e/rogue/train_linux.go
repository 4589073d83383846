package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// train works for some seconds as an agent that trains a model does. It reads the data
// again and again; once a second it asks its model and writes code and submission. It
// prints the bytes that it read, its processor time and its time, both in milliseconds.
func train(seconds string) {
	length, err := time.ParseDuration(seconds + "s")
	if err != nil {
		fatal(err)
	}
	began, next, read := time.Now(), time.Now(), int64(0)
	data, err := os.Open(filepath.Join(os.Getenv("DATA_DIR"), "big.bin"))
	if err != nil {
		fatal(err)
	}
	hash, chunk := sha256.New(), make([]byte, 1<<20)
	for time.Since(began) < length {
		n, err := data.Read(chunk)
		if errors.Is(err, io.EOF) {
			_, err = data.Seek(0, io.SeekStart)
		}
		hash.Write(chunk[:n])
		read += int64(n)
		if err == nil && time.Now().After(next) {
			next, err = next.Add(time.Second), epoch(hash.Sum(nil))
		}
		if err != nil {
			fatal(err)
		}
	}
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		fatal(err)
	}
	fmt.Println("trained", read, (u.Utime.Nano()+u.Stime.Nano())/1e6, time.Since(began).Milliseconds())
}

// epoch asks the model with a prompt of 20 KB and writes code and submission.
func epoch(sum []byte) error {
	body := fmt.Sprintf(`{"model":"m-1","max_tokens":100,"messages":[{"role":"user","content":"%x %s"}]}`, sum, strings.Repeat("lorem ipsum ", 1700))
	req, err := http.NewRequest(http.MethodPost, os.Getenv("OPENAI_BASE_URL")+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the model answers with status %d: %s: %w", answer.StatusCode, text, err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(os.Getenv("CODE_DIR"), "model.py"), fmt.Appendf(nil, "# %x\n", sum), 0o644),
		os.WriteFile(filepath.Join(os.Getenv("SUBMISSION_DIR"), "submission.csv"), bytes.Repeat(fmt.Appendf(nil, "%x,1\n", sum), 10_000), 0o644))
}
