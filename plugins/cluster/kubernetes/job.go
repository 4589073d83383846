package kubernetes

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

// The labels and annotations of a Job and its pods.
const (
	managedBy   = "app.kubernetes.io/managed-by"
	queueLabel  = "kueue.x-k8s.io/queue-name"
	jobLabel    = "batch.kubernetes.io/job-name"
	actionNote  = "mleflow/action"
	addressNote = "mleflow/address"
	reasonNote  = "mleflow/failed"
	messageNote = "mleflow/message"

	workerName = "worker"
	// cacheDir is the cache in the worker's container, homeDir its other writable
	// folder.
	cacheDir = "/var/cache/mleflow"
	homeDir  = "/tmp"

	// favourites is the number of preferred nodes that a job names.
	favourites = 3
)

// spotTaints are the taints of preemptible nodes at Google and Azure. Amazon sets none.
var spotTaints = []string{"cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible", "kubernetes.azure.com/scalesetpriority"}

// manifest returns the Job of a job. nodes are the nodes that it may prefer.
func (s settings) manifest(j cluster.Job, nodes []string) *job {
	labels := map[string]string{managedBy: cluster.Label, cluster.Label: workerName}
	if j.Preemptible {
		labels[cluster.Label+"/preemptible"] = "true"
	}
	maps.Copy(labels, s.Labels)
	notes := map[string]string{actionNote: j.Action, addressNote: j.Address}
	maps.Copy(notes, s.Annotations)
	jobLabels := maps.Clone(labels)
	if s.Queue != "" {
		jobLabels[queueLabel] = s.Queue
	}
	return &job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: j.Name, Namespace: s.Namespace, Labels: jobLabels, Annotations: notes},
		Spec: jobSpec{
			BackoffLimit:            new(j.Retries),
			TTLSecondsAfterFinished: new(int(s.ttl.Seconds())),
			PodReplacementPolicy:    "Failed",
			PodFailurePolicy:        failurePolicy(),
			Template:                podTemplate{Metadata: templateMeta{Labels: labels, Annotations: notes}, Spec: s.podSpec(j, nodes)},
		},
	}
}

// failurePolicy ends a job whose worker refuses the order or cannot be started. Any other end of a
// pod is the machines' failure and counts as a retry. Disruptions such as preemptions
// count too, because a cluster that always preempts a job would restart it endlessly.
// An agent's failure is a result and ends no pod.
func failurePolicy() *podFailurePolicy {
	return &podFailurePolicy{Rules: []failureRule{
		{Action: "FailJob", OnExitCodes: &onExitCodes{ContainerName: workerName, Operator: "In", Values: cluster.FinalExits}},
	}}
}

func (s settings) podSpec(j cluster.Job, nodes []string) podSpec {
	spec := podSpec{
		RestartPolicy:                 "Never",
		TerminationGracePeriodSeconds: new(max(1, seconds(j.Grace))),
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		ServiceAccountName:            s.ServiceAccount,
		PriorityClassName:             s.PriorityClass,
		NodeSelector:                  s.NodeSelector,
		Tolerations:                   s.tolerations(j),
		Affinity:                      s.affinity(j.Near, nodes),
		Containers:                    []container{s.container(j)},
		Volumes:                       s.volumes(),
	}
	if j.Deadline > 0 {
		spec.ActiveDeadlineSeconds = new(seconds(j.Deadline))
	}
	if s.RuntimeClass != "" {
		spec.RuntimeClassName = &s.RuntimeClass
	}
	for _, name := range s.ImagePullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, localReference{name})
	}
	s.secure(&spec)
	return spec
}

// tolerations returns the configured tolerations and those that limit the time for
// which a pod stays bound to a silent node. A preemptible job tolerates the taints by
// which providers keep other pods off such nodes.
func (s settings) tolerations(j cluster.Job) []toleration {
	var all []toleration
	for _, t := range s.Tolerations {
		all = append(all, toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect})
	}
	if j.Preemptible {
		for _, key := range spotTaints {
			all = append(all, toleration{Key: key, Operator: "Exists", Effect: "NoSchedule"})
		}
	}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		all = append(all, toleration{Key: key, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(seconds(s.lostAfter))})
	}
	return all
}

// affinity refuses the excluded nodes, and prefers the first nodes of the job's own order,
// so that jobs with the same inputs share the nodes whose caches have them. A full node
// costs only the preference.
func (s settings) affinity(near string, nodes []string) *affinity {
	var a nodeAffinity
	named := func(operator, name string) requirement {
		return requirement{Key: "metadata.name", Operator: operator, Values: []string{name}}
	}
	if near != "" && len(nodes) > 1 {
		for i, name := range cluster.Rank(near, nodes)[:min(favourites, len(nodes))] {
			a.Preferred = append(a.Preferred, preferredTerm{100 >> i, nodeTerm{[]requirement{named("In", name)}}})
		}
	}
	if len(s.Exclude) > 0 {
		var all nodeTerm
		for _, name := range s.Exclude {
			all.MatchFields = append(all.MatchFields, named("NotIn", name))
		}
		a.Required = &nodeSelector{[]nodeTerm{all}}
	} else if a.Preferred == nil {
		return nil
	}
	return &affinity{a}
}

func (s settings) container(j cluster.Job) container {
	reserved := s.reserve(j.Needs)
	c := container{
		Name: workerName, Image: s.Image,
		Command: s.Command, Args: j.Args,
		Env:          s.environment(j),
		Resources:    resources{Limits: reserved, Requests: reserved},
		VolumeMounts: []volumeMount{{"cache", cacheDir}, {"tmp", homeDir}},

		TerminationMessagePolicy: "FallbackToLogsOnError",
	}
	for _, name := range s.Secrets {
		c.EnvFrom = append(c.EnvFrom, envFrom{SecretRef: &localReference{name}})
	}
	return c
}

// environment returns the variables sorted by name; the job's own take precedence.
// Workers also test whether agents can reach the API server at the controller's
// address.
func (s settings) environment(j cluster.Job) []envVar {
	values := map[string]string{"HOME": homeDir, "MLEFLOW_CACHE_DIR": cacheDir}
	if s.Cache.Quota != "" {
		values["MLEFLOW_CACHE_QUOTA"] = s.Cache.Quota
	}
	maps.Copy(values, s.Env)
	maps.Copy(values, j.Env)
	if s.server != "" {
		values[breach.Variable] = strings.TrimPrefix(values[breach.Variable]+","+s.server, ",")
	}
	env := []envVar{{Name: "MLEFLOW_NODE", ValueFrom: &envSource{FieldRef: &fieldRef{"spec.nodeName"}}}}
	for k, v := range values {
		env = append(env, envVar{Name: k, Value: v})
	}
	slices.SortFunc(env, func(a, b envVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}

// reserve returns the pod's requests, which are also its limits.
func (s settings) reserve(n cluster.Needs) map[string]string {
	r := map[string]string{}
	if n.CPUs > 0 {
		r["cpu"] = strconv.FormatInt(int64(math.Ceil(n.CPUs*1000)), 10) + "m"
	}
	if n.MemoryBytes > 0 {
		r["memory"] = strconv.FormatInt(n.MemoryBytes, 10)
	}
	if n.DiskBytes > 0 {
		r["ephemeral-storage"] = strconv.FormatInt(n.DiskBytes, 10)
	}
	if n.GPUs > 0 {
		r[s.GPUResource] = strconv.Itoa(n.GPUs)
	}
	return r
}

func (s settings) volumes() []volume {
	cache := volume{Name: "cache"}
	switch {
	case s.Cache.Path != "":
		cache.HostPath = &hostPath{Path: s.Cache.Path, Type: "Directory"}
	case s.Cache.Claim != "":
		cache.PersistentVolumeClaim = &claim{s.Cache.Claim}
	default:
		cache.EmptyDir = &emptyDir{SizeLimit: sizeLimit(s.Cache.Quota)}
	}
	return []volume{cache, {Name: "tmp", EmptyDir: &emptyDir{}}}
}

// secure chooses the pod's permissions. Nested is the least that lets the runtime
// sandbox make its own namespaces: a user namespace for the pod, an unmasked
// /proc and a seccomp profile with the calls that make a sandbox.
func (s settings) secure(spec *podSpec) {
	c := &spec.Containers[0]
	if s.PodSecurity == Privileged {
		c.SecurityContext = &containerSecurity{Privileged: new(true)}
		spec.SecurityContext = &podSecurity{RunAsUser: new(int64(0))}
		return
	}
	spec.SecurityContext = &podSecurity{
		RunAsNonRoot: new(true), RunAsUser: &s.UID, RunAsGroup: &s.UID, FSGroup: &s.UID,
		SeccompProfile: &seccomp{Type: "RuntimeDefault"},
	}
	c.SecurityContext = &containerSecurity{AllowPrivilegeEscalation: new(false), Capabilities: &capabilities{Drop: []string{"ALL"}}}
	if s.PodSecurity == Nested {
		spec.HostUsers = new(false)
		spec.SecurityContext.SeccompProfile = &seccomp{Type: "Localhost", LocalhostProfile: s.SeccompProfile}
		c.SecurityContext.ProcMount = "Unmasked"
		c.SecurityContext.AppArmorProfile = &seccomp{Type: "Unconfined"} // the default one refuses mounts
	}
}

func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
