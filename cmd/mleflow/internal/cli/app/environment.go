package app

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// Environment are the facts about program and machine that every run is begun
// with, besides what the run history notes itself. binary is the digest of the program.
func Environment(binary string) map[string]string {
	v := ThisVersion()
	facts := map[string]string{"go": v.Go, "commit": v.Commit, "binary sha256": binary}
	if v.Modified {
		facts["modified"] = "true"
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" {
				facts["goamd64"] = s.Value
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		facts["kernel"] = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				facts["processor"] = strings.TrimSpace(value)
				break
			}
		}
	}
	for name, value := range facts {
		if value == "" {
			delete(facts, name)
		}
	}
	return facts
}

// BinaryDigest is the SHA-256 of the running binary, or empty if it cannot be read.
// Hashing takes as long as a small plan, so the file memo remembers it.
func BinaryDigest(memo string) string {
	f, err := os.Open("/proc/self/exe")
	if path, lacks := os.Executable(); err != nil && lacks == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return ""
	}
	defer f.Close()
	ref, err := local.NewDigests(memo).Of(f, func() (cache.Ref, error) {
		return cache.Put(context.Background(), cache.HashOnly{}, f, cache.Ref{})
	})
	if err != nil {
		return ""
	}
	return ref.ID.String()
}

// SizeOf reads the size in an environment variable.
func SizeOf(variable, text string) (int64, error) {
	n, err := step.ParseBytes(text)
	if err == nil && n == 0 {
		err = errors.New("0 is no size; unset it for the default")
	}
	if err != nil {
		return 0, Usagef("%s: %w", variable, err)
	}
	return n, nil
}
