package kubernetes

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed manifests.yaml
var manifests string

// Init holds the inputs of Manifests. Namespace, Cache and UID come from the cluster
// file.
type Init struct {
	Namespace, Cache string
	// Image prepares the nodes; it has a shell, cp, mv, chown and chmod.
	Image string
	UID   int64
	// Seccomp is the profile for the worker's pods.
	Seccomp []byte
}

// Manifests returns the objects that a cluster needs before it can run jobs, as YAML
// for kubectl apply.
func Manifests(i Init) (string, error) {
	i.Namespace, i.Cache = cmp.Or(i.Namespace, "mleflow"), cmp.Or(i.Cache, "/var/lib/mleflow")
	i.Image = cmp.Or(i.Image, "docker.io/library/busybox:1.37")
	i.UID = cmp.Or(i.UID, 1000)
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
