package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// environment are the facts about program and machine that every run is begun
// with, besides what the ledger notes itself.
func environment(cacheDir string) map[string]string {
	v := thisVersion()
	facts := map[string]string{"go": v.Go, "commit": v.Commit, "binary sha256": binaryDigest(cacheDir)}
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

// known is the digest of a binary that was hashed before.
type known struct {
	Bytes  int64  `json:"bytes"`
	Time   int64  `json:"modified_unix_ns"`
	SHA256 string `json:"sha256"`
}

// binaryDigest is the SHA-256 of the running binary, or empty if it cannot be
// read. Hashing takes a while, so a file in the cache remembers it.
func binaryDigest(cacheDir string) string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	memo := filepath.Join(cacheDir, "binary.json")
	now := known{Bytes: info.Size(), Time: info.ModTime().UnixNano()}
	var was known
	if text, err := nolink.ReadFile(memo); err == nil && json.Unmarshal(text, &was) == nil && was.Bytes == now.Bytes && was.Time == now.Time {
		return was.SHA256
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	w := digest.NewWriter()
	if _, err := f.WriteTo(w); err != nil {
		return ""
	}
	now.SHA256 = w.ID().String()
	if text, err := json.Marshal(now); err == nil {
		// A memo that cannot be written costs time, nothing else.
		_ = nolink.WriteFile(memo, text, 0o644, false)
	}
	return now.SHA256
}
