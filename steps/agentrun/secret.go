package agentrun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// resolveSecret returns the value that a reference stands for, without its
// last line end.
func resolveSecret(ctx context.Context, ref string) (string, error) {
	kind, rest, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		value, ok := os.LookupEnv(rest)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", rest)
		}
		return value, nil
	case "file":
		data, err := os.ReadFile(rest)
		return strings.TrimRight(string(data), "\r\n"), err
	default:
		out, err := exec.CommandContext(ctx, "/bin/sh", "-c", rest).Output()
		if err != nil {
			return "", fmt.Errorf("its command failed: %w", err)
		}
		return strings.TrimRight(string(out), "\r\n"), nil
	}
}

// minMasked is the shortest value that is masked: masking a single letter
// would only destroy a log.
const minMasked = 4

var maskText = []byte("[secret]")

// masker hides the values of secrets. The zero value hides nothing.
type masker struct{ values [][]byte }

func newMasker(values []string) *masker {
	m := &masker{}
	for _, v := range values {
		if len(v) >= minMasked {
			m.values = append(m.values, []byte(v))
		}
	}
	// Of two values that start alike the longer one must be found first.
	slices.SortFunc(m.values, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

// writer returns a writer that masks what passes to dst. Close passes on what
// is held back; it does not close dst.
func (m *masker) writer(dst io.Writer) io.WriteCloser {
	if len(m.values) == 0 {
		return nopCloser{dst}
	}
	return &maskWriter{m: m, dst: dst}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

type maskWriter struct {
	m    *masker
	dst  io.Writer
	held []byte
}

// Write implements io.Writer.
func (w *maskWriter) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	if err := w.pass(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close passes on what is held back.
func (w *maskWriter) Close() error { return w.pass(true) }

// pass writes what can be decided: while more may come, the end of the data is
// held back where it may be the start of a secret.
func (w *maskWriter) pass(last bool) error {
	var out []byte
	rest := w.held
	for len(rest) > 0 {
		at, length := w.m.first(rest)
		open := len(rest)
		if !last {
			open -= w.m.opening(rest)
		}
		// A longer secret may be starting where a short one was found.
		if at < 0 || open <= at {
			out = append(out, rest[:open]...)
			rest = rest[open:]
			break
		}
		out = append(append(out, rest[:at]...), maskText...)
		rest = rest[at+length:]
	}
	w.held = append(w.held[:0], rest...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.dst.Write(out)
	return err
}

// first returns where the first secret in p starts and how long it is.
func (m *masker) first(p []byte) (at, length int) {
	at = -1
	for _, v := range m.values {
		if i := bytes.Index(p, v); i >= 0 && (at < 0 || i < at) {
			at, length = i, len(v)
		}
	}
	return at, length
}

// opening returns the length of the longest end of p that a secret starts with.
func (m *masker) opening(p []byte) int {
	longest := 0
	for _, v := range m.values {
		for n := min(len(v)-1, len(p)); n > longest; n-- {
			if bytes.HasPrefix(v, p[len(p)-n:]) {
				longest = n
			}
		}
	}
	return longest
}
