package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the release, set by the linker: -X …/internal/cli.version=v1.2.3.
var version = "0.1.0-dev"

// Version says what this binary is.
type Version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  takes(0, 0),
		RunE: a.action(func(*cobra.Command, []string) error {
			return runVersion(a)
		}),
	}
}

func runVersion(a *app) error {
	v := thisVersion()
	if a.json {
		return writeJSON(a.stdout, v)
	}
	fmt.Fprintf(a.stdout, "mleflow %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	if a.verbose && v.Commit != "" {
		fmt.Fprintf(a.stdout, "commit %s\n", v.Commit)
	}
	return nil
}

func thisVersion() Version {
	v := Version{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
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

// writeJSON writes v indented, with a newline.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
