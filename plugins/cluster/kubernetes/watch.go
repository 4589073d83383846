package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/mleflow/mleflow/plugins/cluster"
)

const (
	// lookEvery is the interval between two searches for jobs that must be ended.
	lookEvery = 5 * time.Second
	// lostGrace is the time by which a pod may outlive its grace period before its
	// node counts as silent.
	lostGrace = time.Minute
)

// watcher combines the jobs and pods that reflectors report, and reports changes.
type watcher struct {
	settings
	*client
	tell func(cluster.Status)
	all  func() // nil after its call

	mu   sync.Mutex
	jobs map[string]*jobState
	// synced reports whether jobs and pods have been listed; no change is reported before.
	synced map[string]bool
	denied error
	stop   context.CancelFunc
}

func (b *Backend) watcher(fn func(cluster.Status), all func()) *watcher {
	return &watcher{settings: b.settings, client: b.client, tell: fn, all: all, jobs: map[string]*jobState{}, synced: map[string]bool{}}
}

// Watch implements cluster.Backend.
func (b *Backend) Watch(ctx context.Context, fn func(cluster.Status), all func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := b.watcher(fn, all)
	w.stop = stop
	var wg sync.WaitGroup
	wg.Go(func() { w.reflect(ctx, "jobs", &listWatch{client: b.batch, resource: "jobs"}, &job{}) })
	wg.Go(func() { w.reflect(ctx, "pods", &listWatch{client: b.core, resource: "pods"}, &pod{}) })
	wg.Go(func() { w.tidy(ctx) })
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.denied
}

func (w *watcher) reflect(ctx context.Context, kind string, lw *listWatch, expected any) {
	lw.namespace, lw.selector = w.Namespace, cluster.Label
	lw.failed = func(err error) { w.refused(kind, err) }
	r := cache.NewReflectorWithOptions(lw, expected, &feed{w, kind}, cache.ReflectorOptions{Name: kind})
	r.RunWithContext(ctx)
}

// refused ends the watch if the first list is forbidden. A server that has just
// started gives the same answer, so later it is ignored.
func (w *watcher) refused(kind string, err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.synced[kind] {
		w.denied = fmt.Errorf("watch %s in namespace %s: %w", kind, w.Namespace, err)
		w.stop()
	}
}

// feed is the store of one reflector.
type feed struct {
	w    *watcher
	kind string
}

func (f *feed) Add(o any) error    { return f.Update(o) }
func (f *feed) Resync() error      { return nil }
func (f *feed) Update(o any) error { f.w.put(o); return nil }
func (f *feed) Delete(o any) error { f.w.drop(o); return nil }

// Replace is the first list, or the one after a gap.
func (f *feed) Replace(list []any, _ string) error {
	f.w.replace(f.kind, list)
	return nil
}

func (w *watcher) put(o any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report(w.job(o).put(o))
}

func (w *watcher) drop(o any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	w.report(w.job(o).drop(o))
}

func (w *watcher) replace(kind string, list []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	listed := map[string]bool{}
	for _, o := range list {
		w.job(o).put(o)
		listed[o.(metav1.Object).GetName()] = true
	}
	for name, j := range w.jobs {
		if kind == "pods" {
			maps.DeleteFunc(j.pods, func(name string, _ *podState) bool { return !listed[name] })
		} else if !listed[name] {
			j.view = view{}
		}
	}
	w.synced[kind] = true
	for _, j := range w.jobs {
		w.report(j)
	}
	if w.all != nil && w.synced["jobs"] && w.synced["pods"] {
		w.all()
		w.all = nil
	}
}

// job returns the state of the job to which an object belongs.
func (w *watcher) job(o any) *jobState {
	name := ""
	switch o := o.(type) {
	case *job:
		name = o.Name
	case *pod:
		name = o.Labels[jobLabel]
	}
	if w.jobs[name] == nil {
		w.jobs[name] = &jobState{name: name, pods: map[string]*podState{}, ran: map[string]bool{}}
	}
	return w.jobs[name]
}

// report reports the status of a job if it changed.
func (w *watcher) report(j *jobState) {
	if j.name == "" || !w.synced["jobs"] || !w.synced["pods"] {
		return
	}
	st, changed := j.next()
	if st.State == cluster.Gone {
		delete(w.jobs, j.name)
	}
	if changed {
		j.told = st
		w.tell(st)
	}
}

// tidy ends the jobs and pods that would never end by themselves.
func (w *watcher) tidy(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, act := range w.due(now) {
				// A failed action is due again at the next look.
				_ = act(ctx)
			}
		}
	}
}

// due returns the actions that are needed now.
func (w *watcher) due(now time.Time) (acts []func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, j := range w.jobs {
		if j.active() && !j.suspend && len(j.pods) == 0 && now.Sub(j.created) > slowStart && now.Sub(j.asked) > slowStart {
			j.asked = now
			uid := j.uid
			acts = append(acts, func(ctx context.Context) error { return w.askJob(ctx, name, uid) })
		}
		for _, p := range j.pods {
			s := p.sight
			end := func(ctx context.Context) error { return w.end(ctx, name, s.reason, s.message) }
			switch {
			case !p.overdue.IsZero() && now.Sub(p.overdue) > lostGrace:
				acts = append(acts, func(ctx context.Context) error { return w.lose(ctx, s) })
			case j.active() && p.over:
				acts = append(acts, end)
			case j.active() && p.slow(now, p.asked):
				p.asked = now
				acts = append(acts, func(ctx context.Context) error { return w.ask(ctx, j, s) })
			case !p.stuck || p.ended():
				p.since = time.Time{}
			case p.since.IsZero():
				p.since = now
			case j.active() && now.Sub(p.since) >= w.pullTimeout:
				acts = append(acts, end)
			}
		}
	}
	return acts
}

// ask finds out why a pod on its node does not start, such as a volume that cannot be
// mounted. Only events have the reason. The last event counts, so a slow pull is not
// stuck.
func (w *watcher) ask(ctx context.Context, j *jobState, p sight) error {
	last, err := w.failed(ctx, p.uid)
	if last == nil || err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := j.pods[p.name]; now != nil && now.uid == p.uid && !now.started {
		now.stuck, now.reason, now.message = true, last.Reason, last.Message
		w.report(j)
	}
	return nil
}

// askJob finds out why a job has no pod, such as a quota.
func (w *watcher) askJob(ctx context.Context, name, uid string) error {
	last, err := w.failed(ctx, uid)
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.jobs[name]; j != nil && last != nil && j.uid == uid && j.active() {
		j.reason, j.message = last.Reason, last.Message
		w.report(j)
	}
	return err
}

// failed returns the last event of a pod or job if that is a failure.
func (w *watcher) failed(ctx context.Context, uid string) (*event, error) {
	events, err := w.events(ctx, uid)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	last := slices.MaxFunc(events, func(a, b event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	if !strings.HasPrefix(last.Reason, "Failed") {
		return nil, nil
	}
	return &last, nil
}

// end fails a job through a deadline in the past and annotates it with the reason.
func (w *watcher) end(ctx context.Context, name, reason, message string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{reasonNote: reason, messageNote: message}},
		"spec":     map[string]any{"activeDeadlineSeconds": 1},
	})
	if err != nil {
		return err
	}
	return w.patchJob(ctx, name, patch)
}

// lose gives up a pod whose node does not answer. The pod counts as failed, so that
// the Job creates another. If its worker still runs, it no longer holds the claim.
func (w *watcher) lose(ctx context.Context, p sight) error {
	if !p.ended() {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Failed","reason":"NodeLost","message":"node %s does not answer"}}`, p.uid, p.node)
		if err := w.patchPodStatus(ctx, p.name, patch); err != nil {
			return err
		}
	}
	return w.forgetPod(ctx, p.name, apiUID(p.uid))
}
