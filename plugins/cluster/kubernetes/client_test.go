package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeconfigOfOthers: a kubeconfig that a repository brought along may name neither a program
// nor a file whose content its server would get, and one that others may write is refused.
func TestKubeconfigOfOthers(t *testing.T) {
	work, home := t.TempDir(), t.TempDir()
	t.Chdir(work)
	t.Setenv("HOME", "/nowhere")
	secret := filepath.Join(home, "id")
	for _, c := range []struct {
		name, dir, user string
		mode            os.FileMode
		want            string
	}{
		{"token", work, "token: x", 0o600, ""},
		{"program", work, "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./evil, interactiveMode: Never}", 0o600, "names a program or a file"},
		{"file", work, "tokenFile: " + secret, 0o600, "names a program or a file"},
		{"the user's own file", home, "tokenFile: " + secret, 0o600, ""},
		{"others may write", home, "token: x", 0o666, "can be written by other users"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(c.dir, "config")
			text := "clusters: [{name: c, cluster: {server: https://h}}]\nusers: [{name: u, user: {" + c.user + "}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
			for _, write := range []error{os.WriteFile(path, []byte(text), 0o600), os.WriteFile(secret, []byte("key"), 0o600), os.Chmod(path, c.mode)} {
				if write != nil {
					t.Fatal(write)
				}
			}
			if _, err := New(Config{Image: "x", Kubeconfig: path}); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
