package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// printed is the advice for a cluster that lacks permissions or objects.
func (b *Backend) printed() string {
	return fmt.Sprintf("mleflow cluster init --print kubernetes --namespace %s | kubectl apply -f -", b.Namespace)
}

// permission is one that the backend uses; see manifests.yaml.
type permission struct{ group, resource, sub, verbs string }

var (
	needed = []permission{
		{"batch", "jobs", "", "get list watch create patch delete"},
		{"", "pods", "", "list watch delete"},
		{"", "pods", "status", "patch"},
		{"", "events", "", "list"},
	}
	// listNodes is a permission for all namespaces.
	listNodes = permission{"", "nodes", "", "list"}
)

// Examine implements cluster.Backend.
func (b *Backend) Examine(ctx context.Context) []cluster.Check {
	server := b.reach(ctx)
	if !server.OK {
		return []cluster.Check{server}
	}
	return []cluster.Check{
		server, b.may(ctx), b.accepts(ctx),
		cluster.ExamineNodes(ctx, b, "node_selector and toleration of the block leave no node that is ready: compare kubectl get nodes --show-labels"),
	}
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
	c := cluster.Check{Name: "permissions", Fix: "an administrator runs: " + b.printed()}
	var missing []string
	for _, p := range needed {
		for verb := range strings.FieldsSeq(p.verbs) {
			ok, err := b.allowed(ctx, p, verb, b.Namespace)
			if err != nil {
				c.Detail = err.Error()
				return c
			}
			if !ok {
				missing = append(missing, verb+" "+strings.TrimSuffix(p.resource+"/"+p.sub, "/"))
			}
		}
	}
	if len(missing) > 0 {
		c.Detail = fmt.Sprintf("missing in namespace %s: %s", b.Namespace, strings.Join(missing, ", "))
		return c
	}
	c.OK, c.Fix, c.Detail = true, "", "all that the controller needs in namespace "+b.Namespace
	if ok, err := b.allowed(ctx, listNodes, listNodes.verbs, ""); err != nil || !ok {
		c.OK, c.Optional, c.Detail, c.Fix = false, true, "all but list nodes", "plan cannot say what fits no node, and jobs do not prefer nodes whose cache is warm; "+b.printed()
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

// accepts creates a Job as a dry run, which tests the namespace, its quotas and its
// admission controllers.
func (b *Backend) accepts(ctx context.Context) cluster.Check {
	j := b.manifest(cluster.Job{Name: cluster.JobName(strings.Repeat("0", 64)), Args: []string{"version"}}, nil)
	err := b.batch.Post().Namespace(b.Namespace).Resource("jobs").
		VersionedParams(&metav1.CreateOptions{FieldValidation: "Strict", DryRun: []string{metav1.DryRunAll}}, metav1.ParameterCodec).Body(j).Do(ctx).Error()
	c := cluster.Check{Name: "job", Detail: "the namespace would take one (dry run)", OK: true}
	switch {
	case apierrors.IsNotFound(err):
		c.OK, c.Detail, c.Fix = false, fmt.Sprintf("there is no namespace %s", b.Namespace), b.printed()
	case apierrors.IsForbidden(err):
		c.OK, c.Detail, c.Fix = false, err.Error(), "if it is the quota, raise it; if it is a permission: "+b.printed()
	case err != nil && !apierrors.IsAlreadyExists(err):
		c.OK, c.Detail, c.Fix = false, err.Error(), "change what it names in the backend block; Kubernetes 1.33 or later knows all fields"
	}
	return c
}
