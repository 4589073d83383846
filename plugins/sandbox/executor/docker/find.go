package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// ErrNoServer means that nothing names a server and none of the usual sockets exists.
var ErrNoServer = errors.New("no server of Docker or Podman was found")

// maxConfigBytes limits the files of Docker's client.
const maxConfigBytes = 1 << 20

// Find returns the socket of the server, and what names it: DOCKER_HOST; the context of
// DOCKER_CONTEXT or of Docker's configuration; or the first of Sockets that exists. env
// reads the environment, and home is the user's home.
func Find(env func(string) string, home string) (socket, by string, err error) {
	if host := env("DOCKER_HOST"); host != "" {
		socket, err = socketPath(host)
		return socket, "DOCKER_HOST", err
	}
	dir := env("DOCKER_CONFIG")
	if dir == "" && home != "" {
		dir = filepath.Join(home, ".docker")
	}
	name := env("DOCKER_CONTEXT")
	if name == "" && dir != "" {
		if name, err = currentContext(dir); err != nil {
			return "", "", err
		}
	}
	if name != "" && name != "default" {
		socket, err = contextSocket(dir, name)
		return socket, fmt.Sprintf("the context %q of Docker", name), err
	}
	for _, socket := range Sockets(env, home) {
		if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
			return socket, "the usual place", nil
		}
	}
	return "", "", fmt.Errorf("%w: install Docker or Podman (for Podman: systemctl --user start podman.socket), or name its socket in DOCKER_HOST=unix:///PATH", ErrNoServer)
}

// Sockets lists the usual sockets: those of this user first, as they need no more rights
// than the user has.
func Sockets(env func(string) string, home string) (list []string) {
	if dir := env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		list = append(list, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman", "podman.sock"))
	}
	if os.Geteuid() == 0 {
		list = append(list, "/run/podman/podman.sock")
	}
	list = append(list, "/var/run/docker.sock")
	if home != "" {
		list = append(list, filepath.Join(home, ".docker", "run", "docker.sock"))
	}
	return list
}

// socketPath returns the path in the address of a server. No error repeats the address, which can
// have a password.
func socketPath(host string) (string, error) {
	u, err := url.Parse(host)
	if err != nil {
		return "", errors.New("the address of the Docker server is no URL; write unix:///PATH")
	}
	switch {
	case u.Scheme != "unix":
		return "", fmt.Errorf("the Docker server is reached by %s, and mleflow needs one that shares this machine's files: write unix:///PATH, or use the runtime sandbox",
			fmt.Sprintf("%.20q", u.Scheme))
	case u.Host != "" || !filepath.IsAbs(u.Path):
		return "", errors.New("the address of the Docker server has no absolute path; write unix:///PATH, with three slashes")
	}
	return filepath.Clean(u.Path), nil
}

func currentContext(dir string) (string, error) {
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	err := readJSON(filepath.Join(dir, "config.json"), &config)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return config.CurrentContext, err
}

// contextSocket reads the description of a context, which is in a folder named by its
// digest.
func contextSocket(dir, name string) (string, error) {
	sum := sha256.Sum256([]byte(name))
	var meta struct {
		Name      string
		Endpoints map[string]struct{ Host string }
	}
	file := filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json")
	err := readJSON(file, &meta)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("find the Docker server: there is no context %q: docker context ls lists them, and docker context use default goes back", name)
	}
	if err != nil {
		return "", err
	}
	if meta.Name != name {
		return "", fmt.Errorf("%s describes another context than %q", file, name)
	}
	return socketPath(meta.Endpoints["docker"].Host)
}

func readJSON(file string, to any) error {
	text, err := checkout.ReadFile(file, maxConfigBytes)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		// A message of the decoder could repeat a part of the file, which has passwords.
		var path *os.PathError
		if errors.As(err, &path) {
			return err
		}
		return fmt.Errorf("read %s: it is not the JSON that Docker writes", file)
	}
	return nil
}
