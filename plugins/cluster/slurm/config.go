package slurm

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

	// Partition is a partition, or several with commas between them.
	Partition   string `hcl:"partition,optional"`
	Account     string `hcl:"account,optional"`
	QOS         string `hcl:"qos,optional"`
	Constraint  string `hcl:"constraint,optional"`
	Exclude     string `hcl:"exclude,optional"`
	Reservation string `hcl:"reservation,optional"`
	// GRES is the generic resource of a GPU, such as "gpu:a100"; "gpu" by default.
	GRES string `hcl:"gres,optional"`
	// Options are further options of sbatch, such as "--nice=100": none that the backend sets
	// itself, nor one that stops it from reading what sbatch prints.
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

// settle checks a configuration and fills in its defaults. The site decides on some limits.
func settle(c Config, site ...string) (settings, error) {
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
	if err := cmp.Or(
		checkOptions(s.Options, site),
		cluster.Duration(&s.sticky, "sticky", s.Sticky, 2*time.Minute),
		cluster.Duration(&s.stay, "stay", s.Stay, 5*time.Minute),
		cluster.Duration(&s.poll, "poll", s.Poll, 2*time.Second),
	); err != nil {
		return s, err
	}
	if s.poll < 100*time.Millisecond {
		return s, errors.New("poll is less than \"100ms\", which would keep Slurm's controller busy")
	}
	if _, err := checkout.Program("sbatch"); err != nil {
		return s, errors.New("sbatch is not in the path; run mleflow where Slurm's commands are, such as on a login node")
	}
	return s, nil
}

// owned are the options of sbatch that the backend sets itself, those that keep a job from
// starting or its number from being read, and get-user-env, which runs a login shell. Those of
// a limit may be given if the site decides on it.
var owned = []struct{ limit, options string }{
	{"", "partition account qos constraint exclude reservation"},
	{"cpus", "cpus-per-task cpus-per-gpu"},
	{"memory", "mem mem-per-cpu mem-per-gpu"},
	{"gpus", "gres gpus gpus-per-node gpus-per-task gpus-per-socket"},
	{"time", "time"},
	{"-", "parsable job-name comment output error open-mode requeue no-requeue dependency export export-file nodes ntasks signal " +
		"array wait hold wrap test-only chdir clusters get-user-env uid gid quiet help usage version"},
}

// checkOptions returns an error for the first option that may not be given. sbatch takes
// abbreviations, and a word that is no option as the file of another script.
func checkOptions(options, site []string) error {
	for _, o := range options {
		name, long := strings.CutPrefix(o, "--")
		if name, _, _ = strings.Cut(name, "="); !long || name == "" {
			return fmt.Errorf("options has %q; write a long option with its value, such as \"--nice=100\"", o)
		}
		for _, own := range owned {
			names := strings.Fields(own.options)
			i := slices.IndexFunc(names, func(f string) bool { return strings.HasPrefix(f, name) })
			switch {
			case i < 0 || slices.Contains(site, own.limit):
			case own.limit == "":
				return fmt.Errorf("options has %q; write %s = \"…\" in its place", o, names[i])
			case own.limit == "-":
				return fmt.Errorf("options has %q, which the backend sets itself, or which keeps it from following its jobs; leave it out", o)
			default:
				return fmt.Errorf("options has %q, which follows from the step; leave that to the site first: site_decides = [%q]", o, own.limit)
			}
		}
	}
	return nil
}

//go:embed init.txt
var initText string

// Setup returns a commented file with the requirements of a cluster: for its
// administrator a prolog and the settings of the nodes, for the user a cluster file. cache is the folder of the nodes' local disks.
func Setup(cache string) string { return strings.ReplaceAll(initText, "@CACHE@", cache) }
