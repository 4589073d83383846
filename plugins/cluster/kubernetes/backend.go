package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Backend runs jobs as Jobs of one namespace.
type Backend struct {
	settings
	*client

	mu sync.Mutex
	// known are the nodes as they were last listed, knownErr is why they could not be.
	known    []node
	knownErr error
	knownAt  time.Time
}

// New checks a configuration and finds the cluster, without a request to it.
func New(c Config) (*Backend, error) {
	s, err := settle(c)
	if err != nil {
		return nil, err
	}
	client, err := newClient(s)
	if err != nil {
		return nil, err
	}
	s.server = client.server
	return &Backend{settings: s, client: client}, nil
}

// Start creates the Job or adopts an existing one; see cluster.Backend.
func (b *Backend) Start(ctx context.Context, j cluster.Job) error {
	manifest := b.manifest(j, b.nodeNames(ctx))
	for {
		err := b.create(ctx, b.batch, "jobs", manifest)
		if !apierrors.IsAlreadyExists(err) {
			return denied("start job "+j.Name, err)
		}
		old, err := b.getJob(ctx, j.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return denied("start job "+j.Name, err)
		}
		v := viewOf(old)
		if v.ended == "" && !v.deleting && !v.verdict {
			return nil
		}
		if !v.deleting && v.ended != "" {
			if err := b.deleteJob(ctx, j.Name, old.UID, metav1.DeletePropagationBackground); err != nil {
				return denied("replace job "+j.Name, err)
			}
		}
		if err := progress.Sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// nodeNames returns the nodes that a job may prefer; none if they cannot be listed.
func (b *Backend) nodeNames(ctx context.Context) (names []string) {
	nodes, _ := b.listed(ctx, time.Minute)
	for i := range nodes {
		if b.fits(&nodes[i], b.shape) {
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

// Cancel deletes the Jobs after their pods, see cluster.Backend.
func (b *Backend) Cancel(ctx context.Context, names ...string) error {
	return b.each(ctx, "cancel", names, metav1.DeletePropagationForeground)
}

// Extend implements cluster.Backend.
func (b *Backend) Extend(context.Context, string, time.Duration) error {
	return fmt.Errorf("%w: Kubernetes only lowers the activeDeadlineSeconds of a pod", cluster.ErrFixed)
}

// Remove deletes ended Jobs with their pods, see cluster.Backend.
func (b *Backend) Remove(ctx context.Context, names ...string) error {
	return b.each(ctx, "remove", names, metav1.DeletePropagationBackground)
}

func (b *Backend) each(ctx context.Context, verb string, names []string, how metav1.DeletionPropagation) error {
	for _, name := range names {
		if err := b.deleteJob(ctx, name, "", how); err != nil {
			return denied(verb+" job "+name, err)
		}
	}
	return nil
}

// denied marks what passes, and adds advice on how to get a missing permission. It returns nil
// for nil.
func denied(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, err)
	if passes(err) {
		return fmt.Errorf("%w: %w", cluster.ErrLater, err)
	}
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; if it is a permission, mleflow cluster init --print kubernetes prints those that are needed", err)
	}
	return err
}

// passes reports whether another request may succeed without a change: a quota is in use, or the
// server does not answer.
func passes(err error) bool {
	text := err.Error()
	return overQuota.Regexp().MatchString(text) && !refused(text) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		net.IsConnectionRefused(err) || net.IsConnectionReset(err) || net.IsTimeout(err)
}

// printed is the advice for a cluster that lacks permissions or objects.
func (b *Backend) printed() string {
	return fmt.Sprintf("mleflow cluster init --print kubernetes --namespace %s | kubectl apply -f -", b.Namespace)
}

// permission is one that the backend uses; see manifests.yaml. without says what does not
// work if it is missing; "" is a job.
type permission struct{ group, resource, sub, verbs, without string }

const lostPods = "the pod of a node that is gone is not given up, so its step waits for the node"

var permissions = []permission{
	{"batch", "jobs", "", "get list watch create patch delete", ""},
	{"", "pods", "", "list watch", ""},
	{"", "pods", "", "delete", lostPods},
	{"", "pods", "status", "patch", lostPods},
	{"", "events", "", "list", "why a pod is refused or does not start is not known"},
	{"", "nodes", "", "list", "plan cannot say what fits no node, jobs that fit none wait, and jobs do not prefer nodes whose cache is warm"},
}

// Examine implements cluster.Backend.
func (b *Backend) Examine(ctx context.Context, jobs ...cluster.Job) []cluster.Check {
	server := b.reach(ctx)
	if !server.OK {
		return []cluster.Check{server}
	}
	nodes := cluster.ExamineNodes(ctx, b, "node_selector and toleration of the block leave no node that is ready: compare kubectl get nodes --show-labels")
	nodes.Optional = nodes.Optional || b.Autoscaling
	checks := []cluster.Check{server, b.may(ctx), nodes}
	return append(checks, lists.Of(jobs, func(j cluster.Job) cluster.Check { return b.accepts(ctx, j) })...)
}

// reach asks the API server for its version.
func (b *Backend) reach(ctx context.Context) cluster.Check {
	c := cluster.Check{Name: "API server"}
	text, err := b.core.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		c.Detail, c.Fix = err.Error(), "set kubeconfig and context in the block, or KUBECONFIG; kubectl cluster-info tries the same"
		return c
	}
	var v struct{ Major, Minor, GitVersion string }
	if err := json.Unmarshal(text, &v); err != nil {
		c.Detail, c.Fix = fmt.Sprintf("%s does not answer as Kubernetes does: %v", b.settings.server, err), "set kubeconfig and context in the block"
		return c
	}
	c.OK, c.Detail = true, fmt.Sprintf("Kubernetes %s at %s", v.GitVersion, b.settings.server)
	var minor int
	if _, err := fmt.Sscan(strings.TrimRight(v.Minor, "+"), &minor); err == nil && v.Major == "1" && minor < oldestMinor && b.PodSecurity == Nested {
		c.OK, c.Fix = false, `user namespaces in pods need 1.33; upgrade, or write pod_security = "privileged"`
	}
	return c
}

// oldestMinor is the first version that has user namespaces in pods by default.
const oldestMinor = 33

// may checks each permission that the backend uses.
func (b *Backend) may(ctx context.Context) cluster.Check {
	c := cluster.Check{Name: "permissions", Optional: true}
	var missing, without []string
	for _, p := range permissions {
		namespace := b.Namespace
		if p.resource == "nodes" {
			namespace = "" // they are in none
		}
		for verb := range strings.FieldsSeq(p.verbs) {
			ok, err := b.allowed(ctx, p, verb, namespace)
			if err != nil {
				c.Optional, c.Detail, c.Fix = false, err.Error(), "an administrator runs: "+b.printed()
				return c
			}
			if ok {
				continue
			}
			missing = append(missing, verb+" "+strings.TrimSuffix(p.resource+"/"+p.sub, "/"))
			if c.Optional = c.Optional && p.without != ""; p.without != "" && !slices.Contains(without, p.without) {
				without = append(without, p.without)
			}
		}
	}
	c.OK, c.Detail = len(missing) == 0, "all that the controller needs in namespace "+b.Namespace
	if !c.OK {
		c.Detail = fmt.Sprintf("missing in namespace %s: %s", b.Namespace, strings.Join(missing, ", "))
		c.Fix = strings.Join(append(without, "an administrator runs: "+b.printed()), "; ")
	}
	return c
}

// allowed makes a SelfSubjectAccessReview, which every user may do.
func (b *Backend) allowed(ctx context.Context, p permission, verb, namespace string) (bool, error) {
	review, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]string{
			"namespace": namespace, "verb": verb, "group": p.group, "resource": p.resource, "subresource": p.sub,
		}},
	})
	if err != nil {
		return false, err
	}
	text, err := b.core.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(review).DoRaw(ctx)
	if err != nil {
		return false, fmt.Errorf("ask what this user may do: %w", err)
	}
	var answer struct{ Status struct{ Allowed bool } }
	return answer.Status.Allowed, json.Unmarshal(text, &answer)
}

// accepts creates a Job as a dry run, and its pod if this user may: quotas and admission
// controllers mostly judge pods.
func (b *Backend) accepts(ctx context.Context, j cluster.Job) cluster.Check {
	manifest := b.manifest(j, nil)
	c := cluster.Check{Name: "job", Detail: "the namespace would take one (dry run)", OK: true}
	err := b.create(ctx, b.batch, "jobs", manifest, metav1.DryRunAll)
	ok, _ := b.allowed(ctx, permission{resource: "pods"}, "create", b.Namespace)
	if ok && (err == nil || apierrors.IsAlreadyExists(err)) {
		template := manifest["spec"].(object)["template"].(object)
		template["metadata"].(object)["generateName"] = j.Name + "-"
		template["apiVersion"], template["kind"] = "v1", "Pod"
		c.Detail = "the namespace would take one and its pod (dry run)"
		err = b.create(ctx, b.core, "pods", template, metav1.DryRunAll)
	}
	if err == nil || apierrors.IsAlreadyExists(err) {
		return c
	}
	c.OK, c.Optional, c.Detail = false, passes(err), err.Error()
	switch {
	case apierrors.IsNotFound(err):
		c.Detail, c.Fix = fmt.Sprintf("there is no namespace %s", b.Namespace), b.printed()
	case c.Optional:
		c.Fix = "jobs wait until it passes"
	case apierrors.IsForbidden(err):
		c.Fix = "docs/cluster.md says what can be changed where a site forbids it; if it is a permission: " + b.printed()
	default:
		c.Fix = "change what it names in the backend block; Kubernetes 1.33 or later knows all fields"
	}
	return c
}
