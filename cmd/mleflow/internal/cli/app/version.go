package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// version is the release, set by the linker: -X …/internal/cli.version=v1.2.3.
// Without it the build information says which it is.
var version string

// unreleased is the version of a build that no release and no tag names.
const unreleased = "0.1.0-dev"

// Version says what this binary is.
type Version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// NewVersion returns the command version.
func NewVersion(a *App) *cobra.Command {
	return a.Command("version", "Print the version of this binary", Takes(0, 0), func(*cobra.Command, []string) error {
		v := ThisVersion()
		return a.Show(v, func() {
			fmt.Fprintf(a.Stdout, "mleflow %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			if a.Verbose && v.Commit != "" {
				fmt.Fprintf(a.Stdout, "commit %s\n", v.Commit)
			}
		})
	})
}

// ThisVersion describes the running program.
func ThisVersion() Version {
	v := Version{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	v.Version = releaseOf(version, info)
	v.Commit, v.Modified = setting(info, "vcs.revision"), setting(info, "vcs.modified") == "true"
	return v
}

// setting is a setting of a build; "" if it has none.
func setting(info *debug.BuildInfo, key string) (value string) {
	for _, s := range info.Settings {
		if s.Key == key {
			value = s.Value
		}
	}
	return value
}

// releaseOf returns the version of a binary: what the linker was told, else that
// of the module, as go install sets it, else unreleased. The Go command calls a revision
// before the first tag v0.0.0-DATE-COMMIT. This would meet no required_version,
// so that it becomes a build of unreleased: installed, with date and commit; in a
// checkout without them, since every commit would put lock files out of date.
func releaseOf(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	revision, untagged := strings.CutPrefix(info.Main.Version, "v0.0.0-")
	switch checkout := setting(info, "vcs.revision") != ""; {
	case info.Main.Version == "" || info.Main.Version == "(devel)" || untagged && checkout:
		return unreleased
	case untagged:
		return unreleased + "+" + revision
	}
	return info.Main.Version
}

// WriteJSON writes v indented, with a newline.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Environment are the facts about program and machine that every run is begun
// with, besides what the run history notes itself. binary is the digest of the program.
func Environment(binary string) map[string]string {
	v := ThisVersion()
	facts := map[string]string{"go": v.Go, "commit": v.Commit, "binary sha256": binary}
	if v.Modified {
		facts["modified"] = "true"
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		facts["goamd64"] = setting(info, "GOAMD64")
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
	maps.DeleteFunc(facts, func(_, value string) bool { return value == "" })
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
