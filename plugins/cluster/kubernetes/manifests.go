package kubernetes

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed manifests.yaml
var manifests string

// Init is what Manifests needs to know. Namespace, Cache and UID are those of the
// cluster file.
type Init struct {
	Namespace, Cache string
	// Image has a shell, cp, mv, chown and chmod; it prepares the nodes.
	Image string
	UID   int64
	// Seccomp is the profile for the worker's pods.
	Seccomp []byte
}

// Manifests are the objects that a cluster needs before jobs can be started in it,
// as YAML for kubectl apply.
func Manifests(i Init) (string, error) {
	orElse(&i.Namespace, "mleflow")
	orElse(&i.Cache, "/var/lib/mleflow")
	orElse(&i.Image, "docker.io/library/busybox:1.37")
	if i.UID == 0 {
		i.UID = 1000
	}
	if err := check(Config{Image: i.Image, Namespace: i.Namespace, PodSecurity: Nested, Cache: &Cache{Path: i.Cache}}); err != nil {
		return "", err
	}
	var profile strings.Builder
	for line := range strings.Lines(string(i.Seccomp)) {
		fmt.Fprint(&profile, "    ", line)
	}
	return strings.NewReplacer(
		"@NAMESPACE@", i.Namespace, "@CACHE@", i.Cache, "@IMAGE@", i.Image, "@UID@", strconv.FormatInt(i.UID, 10),
		"@SECCOMP@", strings.TrimRight(profile.String(), "\n"),
	).Replace(manifests), nil
}
