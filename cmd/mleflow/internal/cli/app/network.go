package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// networkFlags say where data are taken from and how.
type networkFlags struct {
	Offline     bool
	mirror      string
	adopt       string
	maxRate     string
	connections int
}

// Register adds the flags.
func (f *networkFlags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Offline, "offline", false, "use no network; what needs it fails")
	flags.StringVar(&f.mirror, "mirror", "", "take <slug>.zip, and task texts in the layout of the reference's repository, from below `URL` (a folder, https://… or s3://…) before Kaggle, or a file's address (env MLEFLOW_MIRROR)")
	flags.StringVar(&f.adopt, "adopt", "", "take competitions that are in `DIR`, a data directory of the MLE-bench reference; task texts also from a checkout of it")
	flags.StringVar(&f.maxRate, "max-rate", "", "download at most `SIZE` a second, such as 20MB")
	flags.IntVar(&f.connections, "connections", 0, "fetch a file over `N` connections (0: 8)")
}

// sources returns the sources that the flags ask for.
func (s *Store) sources() ([]source.Entry, error) {
	f := &s.Network
	var options []source.Option
	if folder, err := s.CacheFolder(); err == nil {
		options = append(options, source.Remember(filepath.Join(folder, "sources")))
	}
	if f.maxRate != "" {
		rate, err := step.ParseBytes(strings.TrimSuffix(f.maxRate, "/s"))
		if err != nil || rate <= 0 {
			return nil, Usagef("--max-rate: %q is not a size above 0; write one such as 20MB", f.maxRate)
		}
		options = append(options, source.MaxRate(rate))
	}
	switch {
	case f.connections < 0:
		return nil, Usagef("--connections: %d is negative", f.connections)
	case f.connections > 0:
		options = append(options, source.Connections(f.connections))
	}
	return source.With(source.All(options...), source.Places{Offline: f.Offline, Mirror: s.mirror(), Open: openObjects}), nil
}

// mirror returns the address of the mirror, or "".
func (s *Store) mirror() string { return cmp.Or(s.Network.mirror, s.Env("MLEFLOW_MIRROR")) }

// adopted returns the data directory of the reference to take data from.
func (f *networkFlags) adopted() (string, error) {
	if f.adopt == "" {
		return "", nil
	}
	dir, err := filepath.Abs(f.adopt)
	if err != nil {
		return "", fmt.Errorf("--adopt: %w", err)
	}
	return dir, nil
}

// space measures the space there is for a cache.
func (b *Backend) space(ctx context.Context) (plan.Space, error) {
	info, err := b.Cache.Info(ctx)
	if err != nil {
		return plan.Space{FreeBytes: -1, FreeFiles: -1}, err
	}
	s := plan.Space{FreeBytes: -1, FreeFiles: -1, QuotaBytes: info.Quota, UsedBytes: info.Bytes}
	if free, err := sched.FreeDisk(b.Cache.Dir()); err == nil && free > 0 {
		s.FreeBytes = free
	}
	if files, err := sched.FreeFiles(b.Cache.Dir()); err == nil && files > 0 {
		s.FreeFiles = files
	}
	return s, nil
}
