package slurm

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Config is a block of a cluster file. The zero value of an attribute is its
// default.
type Config struct {
	// Folder holds the files of jobs. The controller and all nodes must see it. By
	// default it is .mleflow/slurm in the home folder.
	Folder string `hcl:"folder,optional"`
	// Binary is the path of mleflow on the nodes, by default that of the running
	// program.
	Binary string `hcl:"binary,optional"`

	Partition   string `hcl:"partition,optional"`
	Account     string `hcl:"account,optional"`
	QOS         string `hcl:"qos,optional"`
	Constraint  string `hcl:"constraint,optional"`
	Exclude     string `hcl:"exclude,optional"`
	Reservation string `hcl:"reservation,optional"`
	// GRES is the generic resource of a GPU, such as "gpu:a100"; "gpu" by default.
	GRES string `hcl:"gres,optional"`
	// Options are further options of sbatch, such as "--nice=100".
	Options []string `hcl:"options,optional"`

	// CacheDir and CacheQuota are the path and the quota of a node's cache, such as
	// "/local/mleflow" and "2TiB". The path may use variables that Slurm sets, such as $SLURM_TMPDIR.
	CacheDir   string            `hcl:"cache_dir,optional"`
	CacheQuota string            `hcl:"cache_quota,optional"`
	Env        map[string]string `hcl:"env,optional"`
	// EnvFile is a file on the nodes with lines NAME=value that only its owner may
	// read: credentials of the remote cache, keys of models.
	EnvFile string `hcl:"env_file,optional"`

	// Sticky is the time for which a job waits for the node that has its inputs, "2m"
	// by default; with "0s" it does not wait.
	Sticky string `hcl:"sticky,optional"`
	// Stay is the time after its start in which a job goes on with waiting jobs that ask
	// for the same, "5m" by default; with "0s" each job runs one step.
	Stay string `hcl:"stay,optional"`
	// Poll is the shortest time between two calls of squeue.
	Poll string `hcl:"poll,optional"`
}

// settings is a Config with its defaults.
type settings struct {
	Config
	sticky, stay, poll time.Duration
}

// envName matches the name of an environment variable.
var envName = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// settle checks a configuration and fills in its defaults.
func settle(c Config) (settings, error) {
	s := settings{Config: c}
	var err error
	if s.Folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return s, fmt.Errorf("there is no folder for jobs: %w; write folder = \"…\", a path that all nodes see", err)
		}
		s.Folder = filepath.Join(home, ".mleflow", "slurm")
	}
	if s.Binary == "" {
		if s.Binary, err = os.Executable(); err != nil {
			return s, fmt.Errorf("find the running program: %w; write binary = \"…\"", err)
		}
	}
	for _, path := range []struct{ name, value string }{{"folder", s.Folder}, {"binary", s.Binary}, {"env_file", s.EnvFile}} {
		if path.value != "" && !filepath.IsAbs(path.value) {
			return s, fmt.Errorf("%s = %q is not an absolute path; jobs run in another folder", path.name, path.value)
		}
	}
	s.GRES = cmp.Or(s.GRES, "gpu")
	for name := range s.Env {
		if !envName.Regexp().MatchString(name) {
			return s, fmt.Errorf("env has %q, which is not the name of an environment variable", name)
		}
	}
	for _, d := range []struct {
		name, text string
		missing    time.Duration
		to         *time.Duration
	}{
		{"sticky", s.Sticky, 2 * time.Minute, &s.sticky}, {"stay", s.Stay, 5 * time.Minute, &s.stay}, {"poll", s.Poll, 2 * time.Second, &s.poll},
	} {
		if *d.to, err = cluster.Duration(d.name, d.text, d.missing); err != nil {
			return s, err
		}
	}
	if s.poll < 100*time.Millisecond {
		return s, errors.New("poll is less than \"100ms\", which would keep Slurm's controller busy")
	}
	if _, err := checkout.Program("sbatch"); err != nil {
		return s, errors.New("sbatch is not in the path; run mleflow where Slurm's commands are, such as on a login node")
	}
	return s, nil
}
