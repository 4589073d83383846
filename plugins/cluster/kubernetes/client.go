package kubernetes

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// client requests jobs, pods and nodes from the API server.
type client struct {
	namespace   string
	server      string // host:port
	batch, core *rest.RESTClient
	calls       atomic.Int64
}

// quiet keeps client-go's log off standard error; errors have all that matters.
var quiet = sync.OnceFunc(func() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
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
	if config.ExecProvider != nil && s.Kubeconfig != "" && checkout.Brought(s.Kubeconfig) {
		return nil, fmt.Errorf("%s names a program to run for a token (exec), and is in the working folder or its repository, whose programs are not run: name a kubeconfig that is yours, or set KUBECONFIG", s.Kubeconfig)
	}
	c := &client{namespace: s.Namespace}
	if base, _, err := rest.DefaultServerUrlFor(config); err == nil {
		if c.server = base.Host; base.Port() == "" {
			c.server = net.JoinHostPort(base.Hostname(), "443")
		}
	}
	config.UserAgent = "mleflow"
	config.QPS, config.Burst = 100, 200
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counted{&c.calls, next} })
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

// counted counts requests.
type counted struct {
	n    *atomic.Int64
	next http.RoundTripper
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(r)
}

func (c *client) getJob(ctx context.Context, name string) (*job, error) {
	var j job
	return &j, c.batch.Get().Namespace(c.namespace).Resource("jobs").Name(name).Do(ctx).Into(&j)
}

// createJob creates a job. The server refuses fields that it does not know.
func (c *client) createJob(ctx context.Context, j *job) error {
	return c.batch.Post().Namespace(c.namespace).Resource("jobs").
		VersionedParams(&metav1.CreateOptions{FieldValidation: "Strict"}, metav1.ParameterCodec).Body(j).Do(ctx).Error()
}

// deleteJob deletes a job and then its pods, or with Foreground the pods first.
// An empty uid is any.
func (c *client) deleteJob(ctx context.Context, name string, uid types.UID, how metav1.DeletionPropagation) error {
	options := &metav1.DeleteOptions{PropagationPolicy: &how}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return c.batch.Delete().Namespace(c.namespace).Resource("jobs").Name(name).Body(options).Do(ctx).Error()
}

func (c *client) patchJob(ctx context.Context, name string, patch []byte) error {
	return c.batch.Patch(types.MergePatchType).Namespace(c.namespace).Resource("jobs").Name(name).Body(patch).Do(ctx).Error()
}

func (c *client) patchPodStatus(ctx context.Context, name string, patch []byte) error {
	return c.core.Patch(types.MergePatchType).Namespace(c.namespace).Resource("pods").Name(name).SubResource("status").Body(patch).Do(ctx).Error()
}

func (c *client) forgetPod(ctx context.Context, name string, uid types.UID) error {
	now := int64(0)
	options := &metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &uid}}
	return c.core.Delete().Namespace(c.namespace).Resource("pods").Name(name).Body(options).Do(ctx).Error()
}

func (c *client) nodes(ctx context.Context) ([]node, error) {
	var list nodeList
	err := c.core.Get().Resource("nodes").VersionedParams(&metav1.ListOptions{ResourceVersion: "0"}, metav1.ParameterCodec).Do(ctx).Into(&list)
	return list.Items, err
}

// events lists the events of a pod or job.
func (c *client) events(ctx context.Context, uid string) ([]event, error) {
	var list eventList
	err := c.core.Get().Namespace(c.namespace).Resource("events").
		VersionedParams(&metav1.ListOptions{FieldSelector: "involvedObject.uid=" + uid}, metav1.ParameterCodec).Do(ctx).Into(&list)
	return list.Items, err
}

// pods lists the pods that reserve resources, in all namespaces if the name is "".
func (c *client) pods(ctx context.Context, namespace string) ([]pod, error) {
	var list podList
	err := c.core.Get().Namespace(namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{ResourceVersion: "0", FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"}, metav1.ParameterCodec).
		Do(ctx).Into(&list)
	return list.Items, err
}

// listWatch lists and watches one kind of our objects.
type listWatch struct {
	client    *rest.RESTClient
	namespace string
	resource  string
	selector  string
	// failed receives each error.
	failed func(error)
}

func (l *listWatch) request(options *metav1.ListOptions) *rest.Request {
	options.LabelSelector = l.selector
	return l.client.Get().Namespace(l.namespace).Resource(l.resource).VersionedParams(options, metav1.ParameterCodec)
}

func (l *listWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	o, err := l.request(&options).Do(ctx).Get()
	l.failed(err)
	return o, err
}

func (l *listWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	w, err := l.request(&options).Watch(ctx)
	l.failed(err)
	return w, err
}

func (l *listWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

func (l *listWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}
