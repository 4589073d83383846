package docker

import "github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"

// Options configure the runtime. The zero value is right for an ordinary machine.
type Options struct {
	// Options are those of the sandbox that lives in containers. By default, Dir is the
	// folder "mleflow/docker" in the user's cache folder.
	sandbox.Options
	// Socket is the server's socket; "" is the one that Find finds.
	Socket string
}
