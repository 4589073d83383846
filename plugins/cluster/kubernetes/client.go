package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// client requests jobs, pods and nodes from the API server.
type client struct {
	namespace   string
	server      string // host:port
	batch, core *rest.RESTClient
}

// quiet keeps client-go's log off standard error; errors have all that matters.
var quiet = sync.OnceFunc(func() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // whatever its severity
})

func newClient(s settings) (*client, error) {
	quiet()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	// Without a kubeconfig this falls back to the service account of the pod.
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; set kubeconfig and context, or KUBECONFIG", err)
	}
	if err := cluster.Own(s.Kubeconfig); err != nil {
		return nil, err
	}
	named := config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != ""
	if named && s.Kubeconfig != "" && checkout.Brought(s.Kubeconfig) {
		return nil, fmt.Errorf("%s names a program or a file for a token (exec, tokenFile), which its server would get, and is in the working folder or its repository: name a kubeconfig that is yours, or set KUBECONFIG", s.Kubeconfig)
	}
	c := &client{namespace: s.Namespace}
	if base, _, err := rest.DefaultServerUrlFor(config); err == nil {
		if c.server = base.Host; base.Port() == "" {
			c.server = net.JoinHostPort(base.Hostname(), "443")
		}
	}
	config.UserAgent = "mleflow"
	config.QPS, config.Burst = 100, 200
	config.NegotiatedSerializer = serializer.NewCodecFactory(newScheme()).WithoutConversion()
	if c.batch, err = restClient(config, "/apis", batchGroup); err != nil {
		return nil, err
	}
	c.core, err = restClient(config, "/api", coreGroup)
	return c, err
}

func restClient(config *rest.Config, path string, group schema.GroupVersion) (*rest.RESTClient, error) {
	own := rest.CopyConfig(config)
	own.APIPath, own.GroupVersion = path, &group
	return rest.RESTClientFor(own)
}

func (c *client) getJob(ctx context.Context, name string) (*job, error) {
	var j job
	return &j, c.batch.Get().Namespace(c.namespace).Resource("jobs").Name(name).Do(ctx).Into(&j)
}

// create creates a job or a pod, or with metav1.DryRunAll tries to. The server refuses fields that
// it does not know.
func (c *client) create(ctx context.Context, to *rest.RESTClient, resource string, manifest object, dryRun ...string) error {
	body, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	options := &metav1.CreateOptions{FieldValidation: "Strict", DryRun: dryRun}
	return to.Post().Namespace(c.namespace).Resource(resource).VersionedParams(options, metav1.ParameterCodec).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

// deleteJob deletes a job and then its pods, or with Foreground the pods first. An empty uid
// is any. It is no error if the job is missing or was replaced by another of the same name.
func (c *client) deleteJob(ctx context.Context, name string, uid types.UID, how metav1.DeletionPropagation) error {
	options := &metav1.DeleteOptions{PropagationPolicy: &how}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err := c.batch.Delete().Namespace(c.namespace).Resource("jobs").Name(name).Body(options).Do(ctx).Error()
	if apierrors.IsNotFound(err) || uid != "" && apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (c *client) change(ctx context.Context, to *rest.RESTClient, resource, name string, patch []byte, sub ...string) error {
	return to.Patch(types.MergePatchType).Namespace(c.namespace).Resource(resource).Name(name).SubResource(sub...).Body(patch).Do(ctx).Error()
}

func (c *client) forgetPod(ctx context.Context, name string, uid types.UID) error {
	now := int64(0)
	options := &metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}}
	return c.core.Delete().Namespace(c.namespace).Resource("pods").Name(name).Body(options).Do(ctx).Error()
}

func (c *client) nodes(ctx context.Context) ([]node, error) {
	var all list[node]
	err := c.core.Get().Resource("nodes").VersionedParams(&metav1.ListOptions{ResourceVersion: "0"}, metav1.ParameterCodec).Do(ctx).Into(&all)
	for i := range all.Items {
		all.Items[i].ManagedFields, all.Items[i].Annotations = nil, nil
	}
	return all.Items, err
}

// events lists the events of a pod or job.
func (c *client) events(ctx context.Context, uid string) ([]event, error) {
	var all list[event]
	err := c.core.Get().Namespace(c.namespace).Resource("events").
		VersionedParams(&metav1.ListOptions{FieldSelector: "involvedObject.uid=" + uid}, metav1.ParameterCodec).Do(ctx).Into(&all)
	return all.Items, err
}
