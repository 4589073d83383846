package results

import (
	"encoding/json"
	"fmt"

	"github.com/mleflow/mleflow/competitions/grading"
)

// UsageFile is the path below its logs where an agent may record its usage.
const UsageFile = "usage.json"

// MaxUsageBytes is the largest usage file that is read.
const MaxUsageBytes = 64 << 10

// Usage is an attempt's use of models.
type Usage = grading.Usage

// ReadUsage reads a usage file. See Usage.Check for its numbers; the
// name of the model has at most 200 bytes.
func ReadUsage(data []byte) (*Usage, error) {
	var u *Usage
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	if u == nil {
		return nil, fmt.Errorf("read %s: it is not an object", UsageFile)
	}
	u.Source = grading.FromAgent
	if len(u.Model) > 200 {
		return nil, fmt.Errorf("read %s: the name of the model has %d bytes", UsageFile, len(u.Model))
	}
	if err := u.Check(); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	return u, nil
}
