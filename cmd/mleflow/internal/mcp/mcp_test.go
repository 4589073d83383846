package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
)

// run is what a server runs commands with.
type run = func(ctx context.Context, args []string, stdout, stderr io.Writer) int

// prints is a run that prints a text, and an error.
func prints(stdout, stderr string) run {
	return func(_ context.Context, _ []string, out, err io.Writer) int {
		_, _ = io.WriteString(out, stdout)
		_, _ = io.WriteString(err, stderr)
		return 1
	}
}

// serve serves by HTTP, as mleflow serve mounts it, and connects a client.
func serve(t *testing.T, o mcp.Options, c *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	o.Root = cli.NewRoot(app.NewApp(&app.Terminal{}))
	one := mcp.New(o)
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one }, nil))
	t.Cleanup(s.Close)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, c).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (mcp.Result, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var out mcp.Result
	if err := json.Unmarshal([]byte(r.Content[0].(*sdk.TextContent).Text), &out); err != nil {
		t.Fatalf("%v: %+v", err, r.Content[0])
	}
	return out, r.IsError
}

// TestOffers says which tools each kind of user has.
func TestOffers(t *testing.T) {
	for _, test := range []struct {
		acts, files bool
		has, hasNot []string
	}{
		{false, false, []string{"runs", "logs"}, []string{"plan", "apply", "attempts_stop", "competition_lint"}},
		{false, true, []string{"plan", "competition_lint"}, []string{"apply", "rehearse", "competition_test", "runs_set"}},
		{true, false, []string{"attempts_stop", "runs_pause"}, []string{"apply", "rehearse", "plan"}},
		{true, true, []string{"apply", "rehearse", "competition_test", "runs_continue"}, nil},
	} {
		list, err := serve(t, mcp.Options{Acts: test.acts, Files: test.files}, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Annotations.ReadOnlyHint && *tool.Annotations.DestructiveHint || len(tool.Description) > 1200 {
				t.Errorf("%s: %+v, %d bytes of description", tool.Name, tool.Annotations, len(tool.Description))
			}
		}
		// A client reads the list into each conversation.
		if text, err := json.Marshal(list); err != nil || len(text) > 42<<10 {
			t.Errorf("acts %v, files %v: the list has %d bytes, %v", test.acts, test.files, len(text), err)
		}
		for _, name := range test.has {
			if !slices.Contains(names, name) {
				t.Errorf("acts %v, files %v: no %s in %v", test.acts, test.files, name, names)
			}
		}
		for _, name := range test.hasNot {
			if slices.Contains(names, name) {
				t.Errorf("acts %v, files %v: %s is listed", test.acts, test.files, name)
			}
		}
	}
}

// TestLines sees that what a client says is never read as a flag or a path.
func TestLines(t *testing.T) {
	var got []string
	s := serve(t, mcp.Options{Acts: true, Files: true, Run: func(_ context.Context, args []string, out, _ io.Writer) int {
		got = args
		_, _ = io.WriteString(out, "{}")
		return 0
	}}, nil)
	for _, test := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"plan", map[string]any{"file": "--help", "var": []string{"a=1", "--x"}}, "plan --json --var=a=1 --var=--x -- --help"},
		{"explain", map[string]any{"address": "step.a"}, "explain --json -- step.a"},
		{"logs", map[string]any{"run": "latest~2", "address": "-f", "attempt": 3}, "logs --raw --attempt=3 -- latest~2 -f"},
		{"apply", map[string]any{"keep_going": true, "rerun": false}, "apply --detach --json --rerun=false --keep-going=true --"},
		{"compare", map[string]any{"runs": []string{"latest"}, "agent": "a", "against_agent": "b"}, "leaderboard --json --agent=a --against-agent=b -- latest"},
		{"runs_set", map[string]any{"settings": []string{"gpus=2"}}, "runs set --json -- gpus=2"},
	} {
		if r, failed := call(t, s, test.tool, test.args); failed {
			t.Errorf("%s: %+v", test.tool, r)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.tool, diff)
		}
	}
}

// TestUntrusted feeds results that try to leave their field.
func TestUntrusted(t *testing.T) {
	const hidden = "a\x1b[2J\u202eb\u200b\U000e0041\u2028c\x00"
	const shown = `a\u{1b}[2J\u{202e}b\u{200b}\u{e0041}\u{2028}c\u{0}`
	text, _ := json.Marshal(map[string]any{hidden: []string{hidden, strings.Repeat("x", 5000)}})
	r, failed := call(t, serve(t, mcp.Options{Run: prints(string(text), hidden)}, nil), "runs", nil)
	if failed || r.Untrusted.Messages != shown {
		t.Errorf("got %+v", r)
	}
	list, _ := r.Untrusted.Result.(map[string]any)[shown].([]any)
	if len(list) != 2 || list[0] != shown || list[1] != strings.Repeat("x", 4096)+"… (904 bytes more)" {
		t.Errorf("got %v", r.Untrusted.Result)
	}
	r, failed = call(t, serve(t, mcp.Options{Run: prints("", strings.Repeat("y", 1<<20)+"the end")}, nil), "runs", nil)
	if !failed || len(r.Untrusted.Messages) > 9<<10 || !strings.HasSuffix(r.Untrusted.Messages, "the end") {
		t.Errorf("an error of a mebibyte: %v, %d bytes", failed, len(r.Untrusted.Messages))
	}
}

// TestPages reads long results page by page.
func TestPages(t *testing.T) {
	long := strings.Repeat("é€", 10_000)
	var parts []string
	for n := range 500 {
		parts = append(parts, fmt.Sprintf("%d %s", n, strings.Repeat("z", 200)))
	}
	result, _ := json.Marshal(parts)
	for tool, text := range map[string]string{"logs": long, "runs": string(result)} {
		s := serve(t, mcp.Options{Run: prints(text, "")}, nil)
		args := map[string]any{"offset": 0}
		if tool == "logs" {
			args["run"], args["address"] = "latest", "step.a"
		}
		got := ""
		for pages := 0; pages < 100; pages++ {
			r, _ := call(t, s, tool, args)
			got += r.Untrusted.Text
			if args["offset"] = r.Untrusted.NextOffset; r.Untrusted.NextOffset == 0 {
				break
			}
		}
		if got != text {
			t.Errorf("%s: the pages have %d bytes, not %d", tool, len(got), len(text))
		}
	}
	s := serve(t, mcp.Options{Run: prints(`"`+strings.Repeat("w", 17<<20)+`"`, "")}, nil)
	if r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "runs"}); err != nil || !r.IsError {
		t.Errorf("a result of 17 MiB: %v", err)
	}
}

// TestProgress tells a client how long a call takes, and ends it when the client cancels.
func TestProgress(t *testing.T) {
	told, ended := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(told) })
	s := serve(t, mcp.Options{Run: func(ctx context.Context, _ []string, _, _ io.Writer) int {
		<-ctx.Done()
		close(ended)
		return 130
	}}, &sdk.ClientOptions{ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) { once() }})
	ctx, cancel := context.WithCancel(t.Context())
	params := &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{"run": "latest"}}
	params.SetProgressToken("token")
	go func() {
		select {
		case <-told:
		case <-time.After(2 * time.Minute):
			t.Error("no progress in two minutes")
		}
		cancel()
	}()
	if _, err := s.CallTool(ctx, params); err == nil {
		t.Error("a cancelled call has a result")
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Error("the command goes on after its call was cancelled")
	}
}

// TestConcurrent runs real commands at once in one process.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, cli.MCPOptions(app.NewApp(&app.Terminal{Environ: []string{"MLEFLOW_CACHE_DIR=" + dir, "MLEFLOW_AUTO_RUNTIME=process"}}), false), nil)
	var all sync.WaitGroup
	for n := range 12 {
		all.Go(func() {
			tool, args := "runs", map[string]any{}
			switch n % 3 {
			case 1:
				tool, args = "plan", map[string]any{"file": "demo.hcl"}
			case 2:
				tool, args = "competition_lint", map[string]any{"ids": []string{"demo-digits"}}
			}
			if r, failed := call(t, s, tool, args); failed {
				t.Errorf("%s: %+v", tool, r)
			}
		})
	}
	all.Wait()
}
