package kubernetes

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Config is a block of a cluster file. The zero value of an attribute is its
// default.
type Config struct {
	// Kubeconfig and Context choose the cluster; without them, the pod's own
	// service account, or KUBECONFIG and ~/.kube/config as kubectl reads them.
	Kubeconfig string `hcl:"kubeconfig,optional"`
	Context    string `hcl:"context,optional"`
	// Namespace holds the Jobs.
	Namespace string `hcl:"namespace,optional"`

	// Image is an image with mleflow in its PATH. It should be named by its digest.
	Image            string   `hcl:"image"`
	ImagePullSecrets []string `hcl:"image_pull_secrets,optional"`
	// Command is the command that starts mleflow in the image.
	Command        []string `hcl:"command,optional"`
	ServiceAccount string   `hcl:"service_account,optional"`
	// Secrets name the Secrets whose keys become environment variables of the
	// worker, such as the credentials of the remote cache.
	Secrets []string          `hcl:"secrets,optional"`
	Env     map[string]string `hcl:"env,optional"`

	// Queue is Kueue's local queue that admits the Jobs.
	Queue         string `hcl:"queue,optional"`
	PriorityClass string `hcl:"priority_class,optional"`
	// Autoscaling says that nodes are added for pods that wait, so that a pod for which there
	// is no node is waited for.
	Autoscaling bool `hcl:"autoscaling,optional"`
	// Pod is a patch of the pod's specification, in YAML.
	Pod          string            `hcl:"pod,optional"`
	RuntimeClass string            `hcl:"runtime_class,optional"`
	NodeSelector map[string]string `hcl:"node_selector,optional"`
	Exclude      []string          `hcl:"exclude,optional"`
	Tolerations  []Toleration      `hcl:"toleration,block"`
	GPUResource  string            `hcl:"gpu_resource,optional"`
	Labels       map[string]string `hcl:"labels,optional"`
	Annotations  map[string]string `hcl:"annotations,optional"`

	// PodSecurity selects the permissions of the worker's pod, in which agents' sandboxes run:
	// "nested", "privileged" or "restricted".
	PodSecurity    string `hcl:"pod_security,optional"`
	SeccompProfile string `hcl:"seccomp_profile,optional"`
	// UID is the user of the worker and the owner of the cache.
	UID   int64  `hcl:"uid,optional"`
	Cache *Cache `hcl:"cache,block"`

	// PullTimeout is the time for which pulling an image or creating a container may
	// fail before the Job fails.
	PullTimeout string `hcl:"pull_timeout,optional"`
	// LostAfter is the silence of a node after which its pods count as lost.
	LostAfter string `hcl:"lost_after,optional"`
	// TTL is the time after which an ended Job is removed by Kubernetes.
	TTL string `hcl:"ttl,optional"`
}

// Cache is the place where the workers of a node keep content: a path of the node or
// a volume claim. Without either it is a folder that ends with the pod.
type Cache struct {
	Path  string `hcl:"path,optional"`
	Claim string `hcl:"claim,optional"`
	// Quota bounds it, in mleflow's sizes, such as "500GiB".
	Quota string `hcl:"quota,optional"`
}

// Toleration is a toleration of Kubernetes.
type Toleration struct {
	Key      string `hcl:"key,optional" json:"key,omitempty"`
	Operator string `hcl:"operator,optional" json:"operator,omitempty"`
	Value    string `hcl:"value,optional" json:"value,omitempty"`
	Effect   string `hcl:"effect,optional" json:"effect,omitempty"`
}

// The values of PodSecurity.
const (
	Nested     = "nested"
	Privileged = "privileged"
	Restricted = "restricted"
)

// settings is a Config whose defaults are filled in.
type settings struct {
	Config
	pullTimeout, lostAfter, ttl time.Duration
	// patch is Pod, decoded. shape is the pod of a job that asks for nothing.
	patch map[string]any
	shape podSpec
	// server is the API server, host:port.
	server string
}

var (
	dnsLabel = pattern.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	quantity = pattern.New(`^([0-9]+)\s*([KMGTP]i)?B?$`)
)

// settle checks a configuration and fills in its defaults.
func settle(c Config) (settings, error) {
	c.Namespace = cmp.Or(c.Namespace, "mleflow")
	c.GPUResource = cmp.Or(c.GPUResource, "nvidia.com/gpu")
	c.PodSecurity = cmp.Or(c.PodSecurity, Nested)
	c.SeccompProfile = cmp.Or(c.SeccompProfile, "mleflow.json")
	c.ServiceAccount = cmp.Or(c.ServiceAccount, "mleflow-worker")
	if len(c.Command) == 0 {
		c.Command = []string{"mleflow"}
	}
	c.UID = cmp.Or(c.UID, 1000)
	if c.Cache == nil {
		c.Cache = &Cache{}
	}
	s := settings{Config: c}
	var err error
	if s.patch, err = parsePatch(c.Pod); err != nil {
		return s, err
	}
	if err := check(c); err != nil {
		return s, err
	}
	s.shape = *recoded[podSpec](s.podSpec(cluster.Job{}, nil))
	return s, cmp.Or(
		cluster.Duration(&s.pullTimeout, "pull_timeout", c.PullTimeout, 10*time.Minute),
		cluster.Duration(&s.lostAfter, "lost_after", c.LostAfter, 5*time.Minute),
		cluster.Duration(&s.ttl, "ttl", c.TTL, 24*time.Hour),
	)
}

func check(c Config) error {
	switch {
	case c.Image == "":
		return fmt.Errorf("image is missing: name a container image that has mleflow, by its digest")
	case !dnsLabel.Regexp().MatchString(c.Namespace):
		return fmt.Errorf("namespace = %q is not a name of Kubernetes: use lower-case letters, digits and hyphens", c.Namespace)
	case c.PodSecurity != Nested && c.PodSecurity != Privileged && c.PodSecurity != Restricted:
		return fmt.Errorf("pod_security = %q is unknown: write %q, %q or %q", c.PodSecurity, Nested, Privileged, Restricted)
	case c.Cache.Path != "" && c.Cache.Claim != "":
		return fmt.Errorf("cache has both a path and a claim: remove one")
	case c.Cache.Path != "" && !path.IsAbs(c.Cache.Path):
		return fmt.Errorf("cache path %q is not absolute: it is a path of the nodes", c.Cache.Path)
	case len(c.Exclude) > 0 && strings.Contains(c.Pod, "nodeSelectorTerms"):
		return fmt.Errorf("pod has nodeSelectorTerms, of which a node needs to meet only one, so that exclude would not hold: exclude the nodes in each term instead")
	case c.Cache.Quota != "" && !quantity.Regexp().MatchString(c.Cache.Quota):
		return fmt.Errorf("cache quota %q is not a size: write one such as \"500GiB\"", c.Cache.Quota)
	}
	for _, all := range []map[string]string{c.Labels, c.Annotations} {
		for name := range all {
			if name == managedBy || name == cluster.Label || strings.HasPrefix(name, cluster.Label+"/") {
				return fmt.Errorf("labels or annotations has %q, by which mleflow and its network policy find workers: remove it", name)
			}
		}
	}
	return nil
}

// sizeLimit returns a quota in Kubernetes' notation.
func sizeLimit(quota string) string {
	return strings.Join(strings.Fields(strings.TrimSuffix(quota, "B")), "")
}

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
