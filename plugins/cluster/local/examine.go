package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// Examine implements cluster.Backend.
func (b *Backend) Examine(context.Context) []cluster.Check {
	folder := cluster.Check{Name: "folder", OK: true, Detail: b.c.Folder}
	if dir, err := os.MkdirTemp(filepath.Join(b.c.Folder, "jobs"), ".try-"); err != nil {
		folder.OK, folder.Detail, folder.Fix = false, err.Error(), "write folder = \"…\", a folder that you may write to"
	} else {
		_ = os.Remove(dir)
	}
	binary := cluster.Check{Name: "binary", OK: true, Detail: b.c.Binary}
	if _, err := exec.LookPath(b.c.Binary); err != nil {
		binary.OK, binary.Detail, binary.Fix = false, err.Error(), "write binary = \"…\", the path of mleflow"
	}
	return []cluster.Check{folder, binary, {Name: "nodes", OK: true, Detail: fmt.Sprintf("%d, played by this machine: %q", len(b.c.Nodes), b.c.Nodes)}}
}
