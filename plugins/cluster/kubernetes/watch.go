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

	mu    sync.Mutex
	jobs  map[string]view
	pods  map[string]*sight            // by name
	mine  map[string]map[string]*sight // by job, by name
	ran   map[string]map[string]bool   // by job: the UIDs of the started pods
	told  map[string]cluster.Status
	stuck map[string]time.Time // since when, by pod
	asked map[string]time.Time // when its events were read, by pod or job
	// synced reports whether jobs and pods have been listed; no change is reported before.
	synced map[string]bool
	denied error
	stop   context.CancelFunc
}

func (b *Backend) watcher(fn func(cluster.Status), all func()) *watcher {
	return &watcher{
		settings: b.settings, client: b.client, tell: fn, all: all,
		jobs: map[string]view{}, pods: map[string]*sight{}, mine: map[string]map[string]*sight{}, ran: map[string]map[string]bool{},
		told: map[string]cluster.Status{}, stuck: map[string]time.Time{}, asked: map[string]time.Time{}, synced: map[string]bool{},
	}
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
	w.update(w.keep(o))
}

func (w *watcher) drop(o any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	switch o := o.(type) {
	case *job:
		delete(w.jobs, o.Name)
		w.update(o.Name)
	case *pod:
		w.forget(o.Name)
		w.update(o.Labels[jobLabel])
	}
}

func (w *watcher) replace(kind string, list []any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := map[string]bool{}
	for name := range w.jobs {
		changed[name] = true
	}
	if kind == "jobs" {
		clear(w.jobs)
	} else {
		clear(w.pods)
		clear(w.mine)
	}
	for _, o := range list {
		changed[w.keep(o)] = true
	}
	w.synced[kind] = true
	for name := range changed {
		w.update(name)
	}
	if w.all != nil && w.synced["jobs"] && w.synced["pods"] {
		w.all()
		w.all = nil
	}
}

// keep stores an object and returns the name of its job.
func (w *watcher) keep(o any) string {
	switch o := o.(type) {
	case *job:
		w.jobs[o.Name] = viewOf(o)
		return o.Name
	case *pod:
		s := sightOf(o)
		w.pods[s.name] = s
		if w.mine[s.job] == nil {
			w.mine[s.job] = map[string]*sight{}
		}
		w.mine[s.job][s.name] = s
		if s.started {
			if w.ran[s.job] == nil {
				w.ran[s.job] = map[string]bool{}
			}
			w.ran[s.job][s.uid] = true
		}
		return s.job
	}
	return ""
}

func (w *watcher) forget(pod string) {
	if s := w.pods[pod]; s != nil {
		delete(w.mine[s.job], pod)
		delete(w.pods, pod)
		delete(w.stuck, pod)
		delete(w.asked, pod)
	}
}

// update reports the status of a job if it changed.
func (w *watcher) update(name string) {
	if name == "" || !w.synced["jobs"] || !w.synced["pods"] {
		return
	}
	v, exists := w.jobs[name]
	st := cluster.Status{Job: name, State: cluster.Gone}
	switch {
	case exists:
		var last *sight
		for _, p := range w.mine[name] {
			if last == nil || p.created.After(last.created) {
				last = p
			}
		}
		st = status(name, v, last, len(w.ran[name]))
		if was := w.told[name]; last == nil && was.State != cluster.Gone { // the pod is gone already: keep its last known values
			st.Node = was.Node
			if v.ended == "" && st.Reason == "" || v.ended == cluster.Failed && !v.verdict && was.Reason != "" {
				st.Reason, st.Message = was.Reason, was.Message
			}
		}
	case len(w.mine[name]) > 0: // a pod that outlives its job for a moment
		return
	}
	if w.told[name] == st || st.State == cluster.Gone && w.told[name].Job == "" {
		return
	}
	w.told[name] = st
	if st.State == cluster.Gone {
		delete(w.told, name)
		delete(w.ran, name)
		delete(w.mine, name)
		delete(w.asked, name)
	}
	w.tell(st)
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
	for name, v := range w.jobs {
		if v.active() && !v.suspend && len(w.mine[name]) == 0 && now.Sub(v.created) > slowStart && now.Sub(w.asked[name]) > slowStart {
			w.asked[name] = now
			acts = append(acts, func(ctx context.Context) error { return w.askJob(ctx, name, v.uid) })
		}
	}
	for name, p := range w.pods {
		active := w.jobs[p.job].active()
		switch {
		case !p.overdue.IsZero() && now.Sub(p.overdue) > lostGrace:
			acts = append(acts, func(ctx context.Context) error { return w.lose(ctx, p) })
		case active && p.over:
			acts = append(acts, func(ctx context.Context) error { return w.end(ctx, p.job, p.reason, p.message) })
		case active && p.slow(now, w.asked[name]):
			w.asked[name] = now
			acts = append(acts, func(ctx context.Context) error { return w.ask(ctx, p) })
		case !p.stuck || p.ended():
			delete(w.stuck, name)
		case w.stuck[name].IsZero():
			w.stuck[name] = now
		case active && now.Sub(w.stuck[name]) >= w.pullTimeout:
			acts = append(acts, func(ctx context.Context) error { return w.end(ctx, p.job, p.reason, p.message) })
		}
	}
	return acts
}

// ask finds out why a pod on its node does not start, such as a volume that cannot be
// mounted. Only events have the reason. The last event counts, so a slow pull is not
// stuck.
func (w *watcher) ask(ctx context.Context, p *sight) error {
	last, err := w.failed(ctx, p.uid)
	if last == nil || err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.pods[p.name]; now != nil && now.uid == p.uid && !now.started {
		told := *now
		told.stuck, told.reason, told.message = true, last.Reason, last.Message
		w.pods[p.name], w.mine[p.job][p.name] = &told, &told
		w.update(p.job)
	}
	return nil
}

// askJob finds out why a job has no pod, such as a quota.
func (w *watcher) askJob(ctx context.Context, name, uid string) error {
	last, err := w.failed(ctx, uid)
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.jobs[name]; last != nil && v.uid == uid && v.active() {
		v.reason, v.message = last.Reason, last.Message
		w.jobs[name] = v
		w.update(name)
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
func (w *watcher) lose(ctx context.Context, p *sight) error {
	if !p.ended() {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Failed","reason":"NodeLost","message":"node %s does not answer"}}`, p.uid, p.node)
		if err := w.patchPodStatus(ctx, p.name, patch); err != nil {
			return err
		}
	}
	return w.forgetPod(ctx, p.name, apiUID(p.uid))
}
