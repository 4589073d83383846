package app

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/config"
)

// Environment are the facts about program and machine that every run is begun
// with, besides what the ledger notes itself. binary is the digest of the program.
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
// The file memo keeps it with the binary's stamp, since hashing takes as long as a
// small plan. It is in the cache's folder: whoever can write there can also write
// the runs that name the digest.
func BinaryDigest(memo string) string {
	f, err := os.Open("/proc/self/exe")
	if path, lacks := os.Executable(); err != nil && lacks == nil {
		f, err = os.Open(path)
	}
	if err != nil {
		return ""
	}
	defer f.Close()
	stamp := binaryStamp(f)
	if text, err := os.ReadFile(memo); err == nil && stamp != "" {
		if id, ok := strings.CutPrefix(string(text), stamp+" "); ok {
			if _, err := digest.ParseContentID(id); err == nil { // else a write was cut short
				return id
			}
		}
	}
	w := digest.NewWriter()
	if _, err := f.WriteTo(w); err != nil {
		return ""
	}
	id := w.ID().String()
	if stamp != "" && stamp == binaryStamp(f) {
		_ = os.WriteFile(memo, []byte(stamp+" "+id), 0o644) // without it, the next run hashes again
	}
	return id
}

// binaryStamp identifies an open file and its last change. It is empty if the file was
// changed a moment ago, when another change might not show.
func binaryStamp(f *os.File) string {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || time.Since(time.Unix(st.Ctim.Unix())) < 2*time.Second {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim)
}

// SizeOf reads the size in an environment variable.
func SizeOf(variable, text string) (int64, error) {
	n, err := config.ParseSize(text)
	if err == nil && n == 0 {
		err = errors.New("0 is no size; unset it for the default")
	}
	if err != nil {
		return 0, Usagef("%s: %w", variable, err)
	}
	return n, nil
}
