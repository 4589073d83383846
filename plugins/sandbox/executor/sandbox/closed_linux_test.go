package sandbox_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// TestClosedFolders: root runs sandboxes below folders that only others may enter, also
// through a link, and the guest cannot enter them.
func TestClosedFolders(t *testing.T) {
	needNamespaces(t)
	if os.Geteuid() != 0 {
		t.Skip("only root enters folders of others")
	}
	for name, tt := range map[string]struct {
		uid, gid int
		mode     fs.FileMode
	}{
		"of a user":            {2001, 2001, 0o700},
		"of a user and root":   {2001, 0, 0o700},
		"of root and a group":  {0, 2002, 0o750},
		"of a user of a group": {2001, 2003, 0o770},
		"that nobody may read": {2001, 2001, 0},
		"sticky":               {2001, 2001, 0o700 | fs.ModeSticky},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			closed := filepath.Join(top, "closed")
			work, runs := filepath.Join(closed, "deeper", "work"), filepath.Join(closed, "deeper", "sandbox")
			for _, dir := range []string{closed, filepath.Dir(work), work, runs} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{runs, filepath.Dir(work), closed} {
				if err := os.Chown(dir, tt.uid, tt.gid); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, tt.mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(work, filepath.Join(top, "link")); err != nil {
				t.Fatal(err)
			}
			e := sandbox.New(sandbox.Options{Dir: runs})
			for _, dir := range []string{work, filepath.Join(top, "link")} {
				var out bytes.Buffer
				exit, err := e.Run(t.Context(), executor.Spec{
					ID: t.Name(), Image: e.Runtime().HostImage, ImageEnv: true, Dir: "/home/agent", Command: []string{"sh", "-c", "echo x > mine; cat mine; ls -d " + closed + " 2>&1 | grep -c 'No such'"},
					Mounts: []executor.Mount{{Host: dir, Guest: "/home/agent"}}, Limits: executor.Limits{Timeout: time.Minute},
				}, &out)
				if err != nil || exit.Reason != executor.Exited || out.String() != "x\n1\n" {
					t.Errorf("%s: %+v, %v\n%s", dir, exit, err, out.String())
				}
			}
		})
	}
}
