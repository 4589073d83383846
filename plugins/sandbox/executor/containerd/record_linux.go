package containerd

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// removeClaim removes a run's folder, with the views in it, and lets go of it.
func removeClaim(c *claim.Claim) error {
	if err := dropViews(c.Dir); err != nil {
		return errors.Join(err, c.Drop())
	}
	return c.Remove()
}

// record is what a later process must know of a run.
type record struct {
	// ID is Spec.ID.
	ID       string        `json:"id"`
	Resume   bool          `json:"resume,omitempty"`
	Boot     string        `json:"boot"`
	Started  time.Time     `json:"started"`
	Timeout  time.Duration `json:"timeout,omitempty"`
	Grace    time.Duration `json:"grace"`
	LogBytes int64         `json:"log_bytes,omitempty"`
	// Socket, Namespace and Container lead to the container.
	Socket    string `json:"socket"`
	Namespace string `json:"namespace"`
	Container string `json:"container"`
	// Ports are those of the services, in order.
	Ports []int `json:"ports,omitempty"`
}

// deadline is when the run's time is up; the zero time is never.
func (r record) deadline() time.Time {
	if r.Timeout == 0 {
		return time.Time{}
	}
	return r.Started.Add(r.Timeout)
}

// resumable reports whether the command was started since the machine was.
func (r record) resumable() bool { return r.Boot == claim.BootID() && !r.Started.IsZero() }

const recordFile = "run.json"

func (r record) save(dir string) error { return claim.Save(filepath.Join(dir, recordFile), r) }

func loadRecord(dir string) (r record, err error) {
	err = claim.Load(filepath.Join(dir, recordFile), &r)
	return r, err
}
