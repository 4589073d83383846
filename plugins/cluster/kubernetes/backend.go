package kubernetes

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Backend runs jobs as Jobs of one namespace.
type Backend struct {
	settings
	*client

	mu      sync.Mutex
	names   []string // of nodes, for the preference of jobs
	namedAt time.Time
}

var _ cluster.Backend = (*Backend)(nil)

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
		err := b.createJob(ctx, manifest)
		if !apierrors.IsAlreadyExists(err) {
			return explain("start", j.Name, err)
		}
		old, err := b.getJob(ctx, j.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return explain("start", j.Name, err)
		}
		v := viewOf(old)
		if v.ended == "" && !v.deleting && !v.verdict {
			return nil
		}
		if !v.deleting && v.ended != "" {
			if err := b.delete(ctx, j.Name, old.UID, metav1.DeletePropagationBackground); err != nil {
				return explain("replace", j.Name, err)
			}
		}
		if err := progress.Sleep(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

// nodeNames returns the nodes that a job may prefer; none if they cannot be listed.
func (b *Backend) nodeNames(ctx context.Context) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.namedAt) < time.Minute {
		return b.names
	}
	nodes, err := b.client.nodes(ctx)
	b.namedAt = time.Now()
	if err != nil {
		return b.names
	}
	b.names = b.names[:0:0]
	for i := range nodes {
		if b.fits(&nodes[i]) {
			b.names = append(b.names, nodes[i].Name)
		}
	}
	return b.names
}

// Cancel deletes the Jobs after their pods, see cluster.Backend.
func (b *Backend) Cancel(ctx context.Context, names ...string) error {
	return b.each(ctx, "cancel", names, metav1.DeletePropagationForeground)
}

// Remove deletes ended Jobs with their pods, see cluster.Backend.
func (b *Backend) Remove(ctx context.Context, names ...string) error {
	return b.each(ctx, "remove", names, metav1.DeletePropagationBackground)
}

func (b *Backend) each(ctx context.Context, verb string, names []string, how metav1.DeletionPropagation) error {
	for _, name := range names {
		if err := b.delete(ctx, name, "", how); err != nil {
			return explain(verb, name, err)
		}
	}
	return nil
}

// delete deletes a Job. It is no error if the Job is missing or was replaced by
// another of the same name.
func (b *Backend) delete(ctx context.Context, name string, uid types.UID, how metav1.DeletionPropagation) error {
	err := b.deleteJob(ctx, name, uid, how)
	if apierrors.IsNotFound(err) || uid != "" && apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Close does nothing: connections end by themselves.
func (b *Backend) Close() error { return nil }

func explain(verb, name string, err error) error {
	if err == nil {
		return nil
	}
	return denied(fmt.Sprintf("%s job %s", verb, name), err)
}

// denied adds advice on how to get a missing permission.
func denied(what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; mleflow cluster init --print kubernetes prints the permissions that are needed", err)
	}
	return err
}

func apiUID(uid string) types.UID { return types.UID(uid) }
