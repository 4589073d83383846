package containerd

import (
	"errors"
	"path/filepath"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// removeClaim removes a run's folder, including its views, and releases it.
func removeClaim(c *claim.Claim) error {
	if err := dropViews(c.Dir); err != nil {
		return errors.Join(err, c.Drop())
	}
	return c.Remove()
}

// record is the information about a run that a later process needs.
type record struct {
	claim.Run
	Resume   bool  `json:"resume,omitempty"`
	LogBytes int64 `json:"log_bytes,omitempty"`
	// Socket, Namespace and Container identify the container.
	Socket    string `json:"socket"`
	Namespace string `json:"namespace"`
	Container string `json:"container"`
	// Ports are the ports of the services, in order.
	Ports []int `json:"ports,omitempty"`
}

// resumable reports whether the command was started during the current boot of the
// machine.
func (r record) resumable() bool { return r.ThisBoot() && !r.Started.IsZero() }

const recordFile = "run.json"

func (r record) save(dir string) error { return claim.Save(filepath.Join(dir, recordFile), r) }

func loadRecord(dir string) (r record, err error) {
	err = claim.Load(filepath.Join(dir, recordFile), &r)
	return r, err
}
