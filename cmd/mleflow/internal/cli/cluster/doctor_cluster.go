package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/fleet"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// examineTime bounds what one part of a cluster may take to answer.
const examineTime = 30 * time.Second

// examineCluster checks what a cluster file names.
func examineCluster(ctx context.Context, a *app.App, flags *app.ClusterFlags) (checks []machine.Check, err error) {
	f, err := flags.File(a.Terminal)
	if err != nil || f == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	add := func(prefix string, list ...cluster.Check) {
		for _, c := range list {
			checks = append(checks, checkOf(prefix, c))
		}
	}
	meets, err := examineRemote(ctx, a, f)
	if err != nil {
		return nil, err
	}
	add("", meets)
	for _, b := range f.Backends {
		limited, stop := context.WithTimeout(ctx, examineTime)
		add(b.Name+": ", b.Examine(limited)...)
		for _, c := range []*cluster.Check{fleet.ExamineTime(limited, b), fleet.ExamineGrace(b)} {
			if c != nil {
				add(b.Name+": ", *c)
			}
		}
		stop()
	}
	return checks, nil
}

// examineRemote tries the remote cache of a cluster file.
func examineRemote(ctx context.Context, a *app.App, f *fleet.File) (c cluster.Check, err error) {
	loc, _, err := a.MeetingPlace(f, "")
	if err != nil {
		return cluster.Check{Name: "remote cache", Detail: err.Error(), Fix: "see docs/cluster.md"}, nil //nolint:nilerr // it is the finding
	}
	b, err := a.OpenBackend()
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	b.Remote = remote.New(b.Cache, loc, remote.Options{Warn: a.Warn})
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	return fleet.ExamineCache(ctx, b.Remote), nil
}

func checkOf(prefix string, c cluster.Check) machine.Check {
	m := machine.Check{Name: prefix + c.Name, Status: machine.OK, Detail: c.Detail, Fix: c.Fix}
	switch {
	case c.OK:
		m.Fix = ""
	case c.Optional:
		m.Status = machine.Warn
	default:
		m.Status = machine.Missing
	}
	return m
}
