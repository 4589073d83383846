package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mleflow/mleflow/plugins/sandbox/acp"
)

// gateway is the validity server of an attempt.
type gateway struct{ url string }

// sent are the arguments of its tools.
type sent struct {
	Path string `json:"path" jsonschema:"absolute path of the CSV file"`
}

// GatewayMain serves the validity server of an attempt to an agent that speaks ACP, on
// standard input and output. It runs in the agent's sandbox as the agent's user and can do
// nothing that the agent cannot. It returns the exit status.
func GatewayMain([]string) int {
	g := gateway{os.Getenv(acp.Gateway)}
	if g.url == "" {
		fmt.Fprintf(os.Stderr, "%s is not set; the client of ACP starts this server\n", acp.Gateway)
		return 2
	}
	s := sdk.NewServer(&sdk.Implementation{Name: acp.ToolsName, Version: acp.ToolsVersion}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "score", Description: "Asks for the official score of predictions for the held-out inputs in the folder VALIDATION_DIR. Each different file costs one query; the reply has the number of queries that are left."}, g.tool("/score"))
	sdk.AddTool(s, &sdk.Tool{Name: "validate", Description: "Checks the form of a submission for the test data. It tells no score, and costs no query."}, g.tool("/validate"))
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintf(os.Stderr, "serve the tools: %v\n", err)
		return 1
	}
	return 0
}

func (g gateway) tool(route string) sdk.ToolHandlerFor[sent, any] {
	return func(ctx context.Context, _ *sdk.CallToolRequest, in sent) (*sdk.CallToolResult, any, error) {
		status, text, err := g.post(ctx, route, in.Path)
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{IsError: status >= http.StatusBadRequest, Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	}
}

// direct connects to the gateway, whatever proxy the agent has.
var direct = &http.Client{Transport: &http.Transport{}}

// post sends a file and returns the reply. After how many seconds a refused request may
// succeed is a field of it.
func (g gateway) post(ctx context.Context, route, path string) (status int, reply string, err error) {
	file, err := os.Open(path) //nolint:gosec // the agent's user opens it
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	body, form := io.Pipe()
	w := multipart.NewWriter(form)
	go func() {
		part, err := w.CreateFormFile("file", filepath.Base(path))
		if err == nil {
			_, err = io.Copy(part, file)
		}
		if err == nil {
			err = w.Close()
		}
		_ = form.CloseWithError(err)
	}()
	defer body.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+route, body)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := direct.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all := map[string]any{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, pageBytes)).Decode(&all); err != nil {
		return 0, "", fmt.Errorf("read the reply: %w", err)
	}
	if wait := resp.Header.Get("Retry-After"); wait != "" {
		all["retry_after_seconds"] = wait
	}
	text, err := json.Marshal(all)
	return resp.StatusCode, string(text), err
}
