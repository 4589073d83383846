package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file below a folder.
func write(t *testing.T, text string, parts ...string) {
	t.Helper()
	file := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	meta := func(name string) string {
		sum := sha256.Sum256([]byte(name))
		return "contexts/meta/" + hex.EncodeToString(sum[:]) + "/meta.json"
	}
	const secret = "hunter2"
	for _, tt := range []struct {
		name      string
		env       map[string]string
		files     map[string]string // below the home
		link      string            // instead of config.json
		want, err string
	}{
		{name: "variable", env: map[string]string{"DOCKER_HOST": "unix:///a/b/../s.sock"}, want: "/a/s.sock"},
		{name: "another machine", env: map[string]string{"DOCKER_HOST": "tcp://u:" + secret + "@h:2376"}, err: "reached by \"tcp\""},
		{name: "relative", env: map[string]string{"DOCKER_HOST": "unix://s.sock"}, err: "three slashes"},
		{name: "no URL", env: map[string]string{"DOCKER_HOST": "::" + secret}, err: "no URL"},
		{name: "context", files: map[string]string{".docker/config.json": `{"currentContext":"c","auths":{"r":{"auth":"` + secret + `"}}}`, ".docker/" + meta("c"): `{"Name":"c","Endpoints":{"docker":{"Host":"unix:///c.sock"}}}`}, want: "/c.sock"},
		{name: "context by variable", env: map[string]string{"DOCKER_CONTEXT": "c", "DOCKER_CONFIG": "@/d"}, files: map[string]string{"d/" + meta("c"): `{"Name":"c","Endpoints":{"docker":{"Host":"unix:///c.sock"}}}`}, want: "/c.sock"},
		{name: "context over ssh", env: map[string]string{"DOCKER_CONTEXT": "c"}, files: map[string]string{".docker/" + meta("c"): `{"Name":"c","Endpoints":{"docker":{"Host":"ssh://` + secret + `@h"}}}`}, err: "reached by \"ssh\""},
		{name: "context of a path", env: map[string]string{"DOCKER_CONTEXT": "../../x"}, err: "no context"},
		{name: "no such context", files: map[string]string{".docker/config.json": `{"currentContext":"gone"}`}, err: "no context \"gone\""},
		{name: "context of another name", env: map[string]string{"DOCKER_CONTEXT": "c"}, files: map[string]string{".docker/" + meta("c"): `{"Name":"d","Endpoints":{"docker":{"Host":"unix:///c.sock"}}}`}, err: "another context"},
		{name: "context without a server", env: map[string]string{"DOCKER_CONTEXT": "c"}, files: map[string]string{".docker/" + meta("c"): `{"Name":"c"}`}, err: "reached by \"\""},
		{name: "garbage", files: map[string]string{".docker/config.json": secret}, err: "not the JSON"},
		{name: "wrong type", files: map[string]string{".docker/config.json": `{"currentContext":["` + secret + `"]}`}, err: "not the JSON"},
		{name: "huge", files: map[string]string{".docker/config.json": strings.Repeat(" ", maxConfigBytes+1)}, err: "more than"},
		{name: "endless", link: "/dev/zero", err: "config.json"},
		{name: "socket", files: map[string]string{".docker/config.json": `{"currentContext":"default"}`}, want: "@/run/podman/podman.sock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, err := os.MkdirTemp("", "f") // the path of a socket is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			for name, text := range tt.files {
				write(t, text, home, name)
			}
			if tt.link != "" {
				write(t, "", home, ".docker/other")
				if err := os.Symlink(tt.link, filepath.Join(home, ".docker/config.json")); err != nil {
					t.Fatal(err)
				}
			}
			write(t, "no socket", home, "run/docker.sock")
			write(t, "", home, "run/podman/other")
			l, err := net.Listen("unix", filepath.Join(home, "run/podman/podman.sock"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			env := func(name string) string {
				if name == "XDG_RUNTIME_DIR" {
					return filepath.Join(home, "run")
				}
				return strings.ReplaceAll(tt.env[name], "@", home)
			}
			if strings.Contains(tt.env["DOCKER_HOST"], "@h") {
				env = func(name string) string { return tt.env[name] }
			}
			got, _, err := Find(env, home)
			if want := strings.ReplaceAll(tt.want, "@", home); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("a secret is in %v", err)
			}
		})
	}
	if _, _, err := Find(func(string) string { return "" }, ""); err != nil && !errors.Is(err, ErrNoServer) {
		t.Errorf("nothing: %v", err)
	}
}
