package engine

import (
	"context"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// preflights is the number of steps asked at a time: enough to ask 75 within
// seconds, but few enough not to look like an attack to a server.
const preflights = 8

// probe is a step to ask, and its answer.
type probe struct {
	n     *node
	asked step.Preflighter
	found step.Preflight
	err   error
}

// preflight asks the steps that will run, several at a time, and records the
// reasons why some of them cannot. Sizes that it learns replace the estimates.
func (r *run) preflight(ctx context.Context) {
	probes := r.probes()
	parallel.Do(len(probes), preflights, func(i int) {
		p := &probes[i]
		p.err = crash.Do(func() (err error) { p.found, err = p.asked.Preflight(ctx); return err })
	})
	if len(probes) == 0 || ctx.Err() != nil {
		return
	}
	var sum event.PreflightFinished
	told := false
	for i := range probes {
		p := &probes[i]
		ev := r.verdict(p)
		if p.found.Place == "" && p.err == nil {
			continue // nothing to fetch
		}
		told = true
		r.sink.Emit(ev)
		switch ev.Verdict {
		case event.PreflightFailed:
			p.n.refused = p.err
			sum.Failed++
			continue
		case event.PreflightUnknown:
			sum.Unknown++
		default:
			sum.OK++
		}
		sum.Bytes += ev.Bytes
		sum.NeedBytes += ev.NeedBytes
	}
	if told {
		sum.At = event.Now()
		r.sink.Emit(sum)
	}
}

// probes lists the steps to ask, in the order of the plan.
func (r *run) probes() (list []probe) {
	for _, n := range r.pl.nodes {
		if n.plan.Action != plan.Run || n.place != nil {
			continue
		}
		c, diags := construct(r.p, n.index, here)
		if asked, ok := c.Step.(step.Preflighter); ok && !diags.HasErrors() {
			list = append(list, probe{n: n, asked: asked})
		}
	}
	return list
}

// verdict records the answer of a probe and returns its event.
func (r *run) verdict(p *probe) event.Preflight {
	f := &p.found
	if f.Estimate.Known {
		est := f.Estimate
		est.PeakBytes = max(est.PeakBytes, p.n.Limits.DiskBytes)
		p.n.estimate = est
	}
	ev := event.Preflight{
		At: event.Now(), Address: p.n.plan.Name, Subject: f.Subject, Place: f.Place, Bytes: f.Bytes, Files: f.Files,
		NeedBytes: p.n.estimate.Bytes(), Credential: string(f.Credential), Rules: string(f.Rules), Link: f.Link,
		Verdict: event.PreflightOK, Note: f.Note,
	}
	if p.err != nil {
		ev.Verdict, ev.Error = event.PreflightFailed, p.err.Error()
		if _, passing := step.IsRetryable(p.err); passing {
			ev.Verdict = event.PreflightUnknown
		}
	}
	return ev
}
