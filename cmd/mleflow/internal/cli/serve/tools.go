package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
)

// maxCall is how long a call of a tool may take, such as one that waits for a run.
const maxCall = 10 * time.Minute

// asked is the key of the context of a call's request, which the protocol would let a call
// outlive.
type asked struct{}

// newTools serves the tools that read the cache, which are the same for all people. A tool
// that acts would act in the name of the server's user on everybody's runs, so there is none.
func newTools(o mcp.Options) http.Handler {
	run := o.Run
	o.Acts, o.Files, o.Run = false, false, func(ctx context.Context, args []string, stdout, stderr io.Writer) int {
		ctx, end := context.WithTimeout(ctx, maxCall)
		defer end()
		if request, ok := ctx.Value(asked{}).(context.Context); ok {
			defer context.AfterFunc(request, end)()
		}
		return run(ctx, args, stdout, stderr)
	}
	one := mcp.New(o)
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one }, &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
		DisableLocalhostProtection: true, // the guard knows the host, which behind a proxy is not this machine's
	})
}

// mcp answers a coding agent.
func (c *call) mcp() error {
	defer c.count(-1)
	if c.count(1) > maxStreams {
		return fmt.Errorf("%w: %d of your calls and streams go on already", service.ErrLimit, maxStreams)
	}
	ctx := c.Context()
	c.tools.ServeHTTP(c.ResponseWriter, c.WithContext(context.WithValue(ctx, asked{}, ctx)))
	return nil
}
