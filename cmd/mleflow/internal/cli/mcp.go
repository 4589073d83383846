package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
)

func newMCP(a *app.App) *cobra.Command {
	var acts bool
	cmd := a.Command("mcp", "Serve mleflow to a coding agent by the Model Context Protocol", app.Takes(0, 0), func(cmd *cobra.Command, _ []string) error {
		s := mcp.New(MCPOptions(a, acts))
		in, ok := a.Stdin.(io.ReadCloser)
		if !ok {
			in = io.NopCloser(a.Stdin)
		}
		out := os.Stdout
		os.Stdout = os.Stderr // nothing but the protocol is on standard output
		err := s.Run(cmd.Context(), &sdk.IOTransport{Reader: in, Writer: out})
		if err != nil && cmd.Context().Err() == nil {
			return fmt.Errorf("serve MCP: %w", err)
		}
		return cmd.Context().Err()
	})
	cmd.Flags().BoolVar(&acts, "allow-acts", false, "offer tools that start, steer and end runs, too")
	return cmd
}

// MCPOptions are those of an MCP server for the user of this process, with the flags of
// its command line.
func MCPOptions(a *app.App, acts bool) mcp.Options {
	var global []string
	if a.CacheDir != "" {
		global = append(global, "--cache-dir="+a.CacheDir)
	}
	if a.RemoteCache != "" {
		global = append(global, "--remote-cache="+a.RemoteCache)
	}
	for _, dir := range a.CompetitionDirs {
		global = append(global, "--competitions="+dir)
	}
	run := func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		own := app.NewApp(&app.Terminal{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Environ: a.Environ})
		own.Through = "mcp"
		return main(ctx, own, append(global, args...))
	}
	return mcp.Options{Root: NewRoot(app.NewApp(a.Terminal)), Run: run, Acts: acts, Files: true, Version: app.ThisVersion().Version}
}
