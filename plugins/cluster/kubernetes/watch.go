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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
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
	*Backend
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
	return &watcher{Backend: b, tell: fn, all: all, jobs: map[string]*jobState{}, synced: map[string]bool{}}
}

// Watch implements cluster.Backend.
func (b *Backend) Watch(ctx context.Context, fn func(cluster.Status), all func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := b.watcher(fn, all)
	w.stop = stop
	var wg sync.WaitGroup
	wg.Go(func() { w.reflect(ctx, "jobs", b.batch, &job{}) })
	wg.Go(func() { w.reflect(ctx, "pods", b.core, &pod{}) })
	wg.Go(func() { w.tidy(ctx) })
	wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.denied
}

// reflect follows one kind of our objects.
func (w *watcher) reflect(ctx context.Context, kind string, c *rest.RESTClient, expected any) {
	request := func(options *metav1.ListOptions) *rest.Request {
		options.LabelSelector = cluster.Label
		return c.Get().Namespace(w.Namespace).Resource(kind).VersionedParams(options, metav1.ParameterCodec)
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			o, err := request(&options).Do(ctx).Get()
			w.refused(kind, err)
			return o, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			i, err := request(&options).Watch(ctx)
			w.refused(kind, err)
			return i, err
		},
	}
	cache.NewReflectorWithOptions(lw, expected, &feed{w, kind}, cache.ReflectorOptions{Name: kind}).RunWithContext(ctx)
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
	*watcher
	kind string
}

func (f *feed) Add(o any) error    { return f.take(o, (*jobState).put) }
func (f *feed) Update(o any) error { return f.take(o, (*jobState).put) }
func (f *feed) Delete(o any) error { return f.take(o, (*jobState).drop) }
func (f *feed) Resync() error      { return nil }

// Replace is the first list, or the one after a gap.
func (f *feed) Replace(list []any, _ string) error { f.replace(f.kind, list); return nil }

// take takes a change of an object into the state of its job.
func (w *watcher) take(o any, in func(*jobState, any) *jobState) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report(in(w.job(o), o))
	return nil
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
			acts = append(acts, func(ctx context.Context) error { return w.ask(ctx, j, uid, sight{}) })
		}
		for _, p := range j.pods {
			s := p.sight
			end := func(ctx context.Context) error { return w.end(ctx, name, s.reason, s.message) }
			switch {
			case !p.overdue.IsZero() && now.Sub(p.overdue) > lostGrace:
				acts = append(acts, func(ctx context.Context) error { return w.lose(ctx, s) })
			case j.active() && p.over:
				acts = append(acts, end)
			case j.asks(p, now):
				p.asked = now
				acts = append(acts, func(ctx context.Context) error { return w.ask(ctx, j, s.uid, s) })
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

// scaleUps are the reasons of events by which cluster-autoscaler and Karpenter announce a node.
var scaleUps = []string{"TriggeredScaleUp", "Nominated"}

// ask finds out why a job has no pod, such as a quota, or why its pod does not start, such as a
// volume that cannot be mounted: p is the pod, or zero, and uid that of the pod or the job. Only
// events have the reason. The last event counts, so a slow pull is not stuck. Whether a pod
// that has no node can ever have one depends on the nodes.
func (w *watcher) ask(ctx context.Context, j *jobState, uid string, p sight) error {
	never, last := "", (*event)(nil)
	if p.unplaced() {
		never = w.judge(ctx, p)
	} else {
		events, err := w.events(ctx, uid)
		if err != nil {
			return err
		}
		last = failed(events)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := j.pods[p.name]
	switch {
	case p.unplaced():
		j.never = never
	case last == nil:
	case now != nil && now.uid == uid && !now.started:
		now.stuck, now.reason, now.message = true, last.Reason, last.Message
	case p.uid == "" && j.uid == uid && j.active():
		j.reason, j.message = last.Reason, last.Message
		if j.never = ""; refused(last.Message) {
			j.never = last.Message + "; docs/cluster.md says what can be changed where a site forbids it, and mleflow doctor --on CLUSTER.hcl tries it"
		}
	}
	w.report(j)
	return nil
}

// judge says why a pod that has no node can never have one; "" if it may, such as one that an
// autoscaler adds.
func (w *watcher) judge(ctx context.Context, p sight) string {
	why := w.unfit(ctx, p.spec)
	switch {
	case noClaim.Regexp().MatchString(p.message):
		return p.message + "; create it in namespace " + w.Namespace + ", or name another claim in cache or pod"
	case why == "":
		return ""
	}
	events, err := w.events(ctx, p.uid)
	if err == nil && slices.ContainsFunc(events, func(e event) bool { return slices.Contains(scaleUps, e.Reason) }) {
		return ""
	}
	return fmt.Sprintf("%s (%s)", why, p.message)
}

var (
	// noClaim matches what the scheduler says of a pod whose PersistentVolumeClaim does not exist.
	noClaim = pattern.New(`persistentvolumeclaim "[^"]+" not found`)
	// admission matches what the API server says when it refuses a pod for what the pod is.
	admission = pattern.New(` is forbidden: | is invalid: | denied the request`)
	// unready matches those refusals by which a server says that it cannot tell yet.
	unready = pattern.New(`status unknown for quota|not yet ready to handle|at this time because`)
	// overQuota has what a pod asks for, and the whole quota.
	overQuota = pattern.New(`exceeded quota: \S+, requested: (\S+), used: \S*, limited: (\S+)`)
)

// refused reports whether a pod would be refused however often its Job tried. A quota that
// others use may become free, one that is too small does not.
func refused(message string) bool {
	quota := overQuota.Regexp().FindStringSubmatch(message)
	if quota == nil {
		return admission.Regexp().MatchString(message) && !unready.Regexp().MatchString(message)
	}
	asked, _ := labels.ConvertSelectorToLabelsMap(quota[1])
	whole, _ := labels.ConvertSelectorToLabelsMap(quota[2])
	for name := range asked {
		if amount(asked[name]) > amount(whole[name]) {
			return true
		}
	}
	return false
}

// failed returns the last event if that is a failure, else nil.
func failed(events []event) *event {
	if len(events) == 0 {
		return nil
	}
	last := slices.MaxFunc(events, func(a, b event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	if !strings.HasPrefix(last.Reason, "Failed") {
		return nil
	}
	return &last
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
	return w.change(ctx, w.batch, "jobs", name, patch)
}

// lose gives up a pod whose node does not answer. The pod counts as failed, so that
// the Job creates another. If its worker still runs, it no longer holds the claim.
func (w *watcher) lose(ctx context.Context, p sight) error {
	if !p.ended() {
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Failed","reason":"NodeLost","message":"node %s does not answer"}}`, p.uid, p.node)
		if err := w.change(ctx, w.core, "pods", p.name, patch, "status"); err != nil {
			return err
		}
	}
	return w.forgetPod(ctx, p.name, types.UID(p.uid))
}
