package kubernetes

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/cluster"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

// The labels and annotations of a Job and its pods.
const (
	managedBy  = "app.kubernetes.io/managed-by"
	queueLabel = "kueue.x-k8s.io/queue-name"
	jobLabel   = "batch.kubernetes.io/job-name"
	// preemptibleLabel marks pods of preemptible jobs.
	preemptibleLabel = cluster.Label + "/preemptible"
	actionNote       = "mleflow/action"
	addressNote      = "mleflow/address"
	reasonNote       = "mleflow/failed"
	messageNote      = "mleflow/message"

	workerName   = "worker"
	nodeVariable = "MLEFLOW_NODE"
	// cacheDir is the cache in the worker's container, homeDir its other writable
	// folder.
	cacheDir = "/var/cache/mleflow"
	homeDir  = "/tmp"

	// favourites is the number of preferred nodes that a job names.
	favourites = 3
)

// spotTaints are the taints of preemptible nodes at Google and Azure. Amazon sets none.
var spotTaints = []string{"cloud.google.com/gke-spot", "cloud.google.com/gke-preemptible", "kubernetes.azure.com/scalesetpriority"}

// object is a JSON object of Kubernetes. A test decodes the whole manifest strictly into the
// types of k8s.io/api.
type object map[string]any

// add sets a member unless its value is empty, which stands for Kubernetes' default.
func (o object) add(name string, value any, empty bool) {
	if !empty {
		o[name] = value
	}
}

// named returns a reference to an object of the namespace.
func named(name string) object { return object{"name": name} }

// manifest returns the Job of a job. nodes are the nodes that it may prefer.
func (s settings) manifest(j cluster.Job, nodes []string) object {
	labels := map[string]string{managedBy: cluster.Label, cluster.Label: workerName}
	if j.Preemptible {
		labels[preemptibleLabel] = "true"
	}
	maps.Copy(labels, s.Labels)
	notes := map[string]string{actionNote: j.Action, addressNote: j.Address}
	maps.Copy(notes, s.Annotations)
	jobLabels := maps.Clone(labels)
	if s.Queue != "" {
		jobLabels[queueLabel] = s.Queue
	}
	return object{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": object{"name": j.Name, "namespace": s.Namespace, "labels": jobLabels, "annotations": notes},
		"spec": object{
			"backoffLimit":            j.Retries,
			"ttlSecondsAfterFinished": int(s.ttl.Seconds()),
			"podReplacementPolicy":    "Failed",
			"podFailurePolicy":        failurePolicy(),
			"template":                object{"metadata": object{"labels": labels, "annotations": notes}, "spec": s.podSpec(j, nodes)},
		},
	}
}

// failurePolicy ends a job whose worker refuses the order or cannot be started. Any other end of a
// pod is the machines' failure and counts as a retry. Disruptions such as preemptions
// count too, because a cluster that always preempts a job would restart it endlessly.
// An agent's failure is a result and ends no pod.
func failurePolicy() object {
	exits := object{"containerName": workerName, "operator": "In", "values": cluster.FinalExits}
	return object{"rules": []object{{"action": "FailJob", "onExitCodes": exits}}}
}

func (s settings) podSpec(j cluster.Job, nodes []string) object {
	pod, worker := s.security()
	spec := object{
		"restartPolicy":                 "Never",
		"terminationGracePeriodSeconds": max(1, seconds(j.Grace)),
		"automountServiceAccountToken":  false,
		"enableServiceLinks":            false,
		"serviceAccountName":            s.ServiceAccount,
		"tolerations":                   s.tolerations(j),
		"securityContext":               pod,
		"containers":                    []object{s.container(j, worker)},
		"volumes":                       s.volumes(),
	}
	affinity := s.affinity(j.Near, nodes)
	spec.add("affinity", object{"nodeAffinity": affinity}, len(affinity) == 0)
	spec.add("priorityClassName", s.PriorityClass, s.PriorityClass == "")
	spec.add("nodeSelector", s.NodeSelector, len(s.NodeSelector) == 0)
	spec.add("activeDeadlineSeconds", seconds(j.Deadline), j.Deadline <= 0)
	spec.add("runtimeClassName", s.RuntimeClass, s.RuntimeClass == "")
	spec.add("imagePullSecrets", lists.Of(s.ImagePullSecrets, named), len(s.ImagePullSecrets) == 0)
	spec.add("hostUsers", false, s.PodSecurity != Nested)
	if s.patch != nil {
		spec = merged(*recoded[any](spec), s.patch).(map[string]any)
	}
	return spec
}

// tolerations returns the configured tolerations and those that limit the time for
// which a pod stays bound to a silent node. A preemptible job tolerates the taints by
// which providers keep other pods off such nodes.
func (s settings) tolerations(j cluster.Job) (all []any) {
	for _, t := range s.Tolerations {
		all = append(all, t)
	}
	if j.Preemptible {
		for _, key := range spotTaints {
			all = append(all, Toleration{Key: key, Operator: "Exists", Effect: "NoSchedule"})
		}
	}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		all = append(all, object{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds(s.lostAfter)})
	}
	return all
}

// affinity refuses the excluded nodes, and prefers the first nodes of the job's own order,
// so that jobs with the same inputs share the nodes whose caches have them. A full node
// costs only the preference.
func (s settings) affinity(near string, nodes []string) object {
	a := object{}
	term := func(operator string, names ...string) object {
		var fields []object
		for _, name := range names {
			fields = append(fields, object{"key": "metadata.name", "operator": operator, "values": []string{name}})
		}
		return object{"matchFields": fields}
	}
	if near != "" && len(nodes) > 1 {
		var preferred []object
		for i, name := range cluster.Rank(near, nodes)[:min(favourites, len(nodes))] {
			preferred = append(preferred, object{"weight": 100 >> i, "preference": term("In", name)})
		}
		a["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
	}
	if len(s.Exclude) > 0 {
		a["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": []object{term("NotIn", s.Exclude...)}}
	}
	return a
}

func (s settings) container(j cluster.Job, security object) object {
	reserved := s.reserve(j.Needs)
	c := object{
		"name": workerName, "image": s.Image, "command": s.Command, "args": j.Args,
		"env":             s.environment(j),
		"volumeMounts":    []object{{"name": "cache", "mountPath": cacheDir}, {"name": "tmp", "mountPath": homeDir}},
		"securityContext": security,
		// The last words of the worker, if it leaves no message.
		"terminationMessagePolicy": "FallbackToLogsOnError",
	}
	c.add("resources", object{"limits": reserved, "requests": reserved}, len(reserved) == 0)
	sources := lists.Of(s.Secrets, func(name string) object { return object{"secretRef": named(name)} })
	c.add("envFrom", sources, len(sources) == 0)
	return c
}

// environment returns the variables sorted by name; the job's own take precedence.
// Workers also test whether agents can reach the API server at the controller's
// address.
func (s settings) environment(j cluster.Job) []object {
	values := map[string]string{"HOME": homeDir, "MLEFLOW_CACHE_DIR": cacheDir}
	if s.Cache.Quota != "" {
		values["MLEFLOW_CACHE_QUOTA"] = s.Cache.Quota
	}
	maps.Copy(values, s.Env)
	maps.Copy(values, j.Env)
	if s.server != "" {
		values[breach.Variable] = strings.TrimPrefix(values[breach.Variable]+","+s.server, ",")
	}
	values[nodeVariable] = ""
	var env []object
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := object{"name": name}
		if name == nodeVariable {
			v["valueFrom"] = object{"fieldRef": object{"fieldPath": "spec.nodeName"}}
		} else {
			v.add("value", values[name], values[name] == "")
		}
		env = append(env, v)
	}
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

func (s settings) volumes() []object {
	cache := object{"name": "cache"}
	switch limit := sizeLimit(s.Cache.Quota); {
	case s.Cache.Path != "":
		cache["hostPath"] = object{"path": s.Cache.Path, "type": "Directory"}
	case s.Cache.Claim != "":
		cache["persistentVolumeClaim"] = object{"claimName": s.Cache.Claim}
	default:
		dir := object{}
		dir.add("sizeLimit", limit, limit == "")
		cache["emptyDir"] = dir
	}
	return []object{cache, {"name": "tmp", "emptyDir": object{}}}
}

// security returns the permissions of the pod and of its worker. Nested is the least that
// lets the runtime sandbox make its own namespaces: a user namespace for the pod, an
// unmasked /proc and a seccomp profile with the calls that make a sandbox.
func (s settings) security() (pod, worker object) {
	if s.PodSecurity == Privileged {
		return object{"runAsUser": 0}, object{"privileged": true}
	}
	pod = object{
		"runAsNonRoot": true, "runAsUser": s.UID, "runAsGroup": s.UID, "fsGroup": s.UID,
		"seccompProfile": object{"type": "RuntimeDefault"},
	}
	worker = object{"allowPrivilegeEscalation": false, "capabilities": object{"drop": []string{"ALL"}}}
	if s.PodSecurity == Nested {
		pod["seccompProfile"] = object{"type": "Localhost", "localhostProfile": s.SeccompProfile}
		worker["procMount"] = "Unmasked"
		worker["appArmorProfile"] = object{"type": "Unconfined"} // the default one refuses mounts
	}
	return pod, worker
}

func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
