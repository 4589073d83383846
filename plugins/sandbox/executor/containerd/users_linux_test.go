package containerd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// testUsers looks at two guests from the host: each is user 1000 to itself, and on
// the host one that nobody else has, so that the host's user 1000 can neither
// read its secrets nor touch it.
func testUsers(t *testing.T, b *bench) {
	uids := map[uint32]bool{}
	for i := range 2 {
		spec := b.Spec(t, "ticks", "1000")
		spec.ID = fmt.Sprint(t.Name(), i)
		spec.Env["TOKEN"] = spec.ID
		spec.Mounts = []executor.Mount{{Host: t.TempDir(), Guest: "/home/work"}}
		if err := os.WriteFile(filepath.Join(spec.Mounts[0].Host, "mine"), []byte("private"), 0o600); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := b.e.Run(ctx, spec, io.Discard)
			ended <- err
		}()
		t.Cleanup(func() { cancel(); <-ended })
		pid := awaitGuest(t, spec.ID)
		info, err := os.Stat(filepath.Dir(pid))
		if err != nil {
			t.Fatal(err)
		}
		uid := info.Sys().(*syscall.Stat_t).Uid
		if uids[uid] || uid < 0x7000_0000 {
			t.Errorf("it runs as user %d of the host", uid)
		}
		uids[uid] = true
		if info, err := os.Stat(filepath.Join(spec.Mounts[0].Host, "mine")); err != nil || info.Sys().(*syscall.Stat_t).Uid != uid {
			t.Errorf("what it may write to is another's: %v, %v", info, err)
		}
		cmd := exec.Command("/bin/cat", pid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "denied") {
			t.Errorf("user 1000 of the host reads %q, %v", out, err)
		}
	}
	// The leases of runs that are over are free.
	links, err := filepath.Glob(filepath.Join(b.daemon.Options.StateDir, "users", "*"))
	if err != nil || len(links) != len(uids) {
		t.Errorf("%d leases for %d runs, %v", len(links), len(uids), err)
	}
}

// awaitGuest returns the file of the environment of a guest, by its token.
func awaitGuest(t *testing.T, token string) string {
	t.Helper()
	for range 3000 {
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil && strings.Contains(string(text)+"\x00", "TOKEN="+token+"\x00") {
				if name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm")); !strings.HasPrefix(string(name), "runc") {
					return file
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the guest did not appear")
	return ""
}

// testHooks runs a command with a device whose description has a hook: without a
// user namespace, and as a user of the host that nobody else has.
func testHooks(t *testing.T, b *bench) {
	dir := b.daemon.Options.CDIDirs[0]
	text := `{"cdiVersion":"0.5.0","kind":"hook.test/gpu","devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/fake0","hostPath":"/dev/null"}],
 "hooks":[{"hookName":"createContainer","path":"/bin/true"}]}}]}`
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hook.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join(dir, "hook.json"))
	spec := b.Spec(t, "look")
	spec.Devices = []string{"hook.test/gpu=0"}
	var got map[string]string
	b.Run(t, spec, &got)
	var uid, gid uint32
	if _, err := fmt.Sscan(got["ids"], &uid, &gid); err != nil || uid < 0x7000_0000 || gid != uid {
		text, _ := json.Marshal(got["ids"])
		t.Errorf("it runs as %s", text)
	}
	spec.Sandbox.Capabilities = []string{"CAP_SYS_NICE"}
	b.Run(t, spec, &got)
	spec.Sandbox.Capabilities = append(spec.Sandbox.Capabilities, "CAP_DAC_READ_SEARCH")
	if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil || !strings.Contains(err.Error(), "CAP_DAC_READ_SEARCH would hold for the whole host") {
		t.Errorf("a capability that reads every file of the host: %v", err)
	}
}

// testDevLink runs an image whose /dev is a link to a folder of the host.
func testDevLink(t *testing.T, b *bench) {
	for _, name := range []string{"dev", "proc", "sys"} {
		host, files := t.TempDir(), t.TempDir()
		if err := os.Symlink(host, filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
		recipe, err := containerdtest.Recipe()
		if err != nil {
			t.Fatal(err)
		}
		recipe.Files = append(recipe.Files, image.File{Host: files, Guest: "/"})
		made, err := (&image.Builder{Dir: t.TempDir()}).Build(t.Context(), recipe, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		spec := b.Spec(t, "look")
		spec.Image = made.Path
		if _, err := b.e.Run(t.Context(), spec, io.Discard); err == nil || !strings.Contains(err.Error(), "its /"+name+" is no folder") {
			t.Errorf("%s: %v", name, err)
		}
		if made, err := os.ReadDir(host); err != nil || len(made) > 0 {
			t.Errorf("%s: the host's folder has %v, %v", name, made, err)
		}
	}
}
