package app

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  Takes(0, 0),
		RunE: a.Action(func(*cobra.Command, []string) error {
			v := ThisVersion()
			return a.Show(v, func() {
				fmt.Fprintf(a.Stdout, "mleflow %s (%s, %s)\n", v.Version, v.Go, v.Platform)
				if a.Verbose && v.Commit != "" {
					fmt.Fprintf(a.Stdout, "commit %s\n", v.Commit)
				}
			})
		}),
	}
}

// ThisVersion describes the running program.
func ThisVersion() Version {
	v := Version{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	v.Version = releaseOf(version, info)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
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
	switch checkout := slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" }); {
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
