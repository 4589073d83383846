package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// maxSecret is the greatest size of a secret in bytes.
	maxSecret = 1 << 20
	// secretWait is how long a secret's command may go on in the background
	// once it has ended or the run is interrupted.
	secretWait = 2 * time.Second
)

var errSecretSize = fmt.Errorf("it has more than %d bytes, which no secret has; is it the right place?", maxSecret)

// resolveSecret returns the value that a reference stands for, without its
// last line end.
func resolveSecret(ctx context.Context, ref string) (string, error) {
	kind, rest, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		value, ok := os.LookupEnv(rest)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", rest)
		}
		return value, nil
	case "file":
		data, err := readSecret(rest)
		return lastLineEnd(data), err
	default:
		data, err := printedSecret(ctx, rest)
		return lastLineEnd(data), err
	}
}

func lastLineEnd(data []byte) string { return strings.TrimRight(string(data), "\r\n") }

func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxSecret:
		return nil, fmt.Errorf("read %s: %w", path, errSecretSize)
	}
	return data, nil
}

// printedSecret returns what a command prints. The command ends with ctx, and
// what it leaves in the background is not waited for.
func printedSecret(ctx context.Context, line string) ([]byte, error) {
	var out boundedBuffer
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Stdout = &out
	cmd.WaitDelay = secretWait
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("its command was stopped: %w", context.Cause(ctx))
	case out.full:
		return nil, fmt.Errorf("run its command: %w", errSecretSize)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("its command left a process behind that holds its output open; let that process print elsewhere: %w", err)
	case err != nil:
		return nil, fmt.Errorf("its command failed: %w", err)
	}
	return out.data, nil
}

// boundedBuffer takes no more than a secret may have.
type boundedBuffer struct {
	data []byte
	full bool
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxSecret {
		b.full = true
		return 0, errSecretSize
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
