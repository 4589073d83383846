package agentrun

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// placeFiles copies the agent's files into its own folder, where its command starts.
// The agent may change the copies.
func (s *setup) placeFiles(ctx context.Context) error {
	if len(s.args.Agent.Files) == 0 {
		return nil
	}
	dir := filepath.Join(s.dirs.home, "agent")
	ref, err := step.FilesTree(ctx, s.env.Store, s.args.Agent.Files)
	if err != nil {
		return err
	}
	if _, err := tree.Materialise(ctx, s.env.Store, ref, dir, tree.Options{Mode: tree.Copy, Writable: true}); err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return s.give(path)
	})
}

// workFolder is the folder in which the agent's command starts.
func (a *attempt) workFolder() string {
	if len(a.args.Agent.Files) > 0 {
		return "agent"
	}
	return ""
}
