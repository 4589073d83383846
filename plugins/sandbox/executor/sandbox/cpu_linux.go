package sandbox

import (
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// processors reserves as many processors of this machine as the limit allows, rounded
// up, that no other run in the folder has. They stay locked while the files are open.
// It returns none if there is no limit, or if too few processors are free. The kernel
// then schedules on all of them.
func processors(dir string, limit float64) (list []int, locks []*os.File) {
	want, all := int(math.Ceil(limit)), executor.Processors(math.MaxInt32)
	if want <= 0 || want >= len(all) || os.MkdirAll(dir, 0o700) != nil {
		return nil, nil
	}
	for _, n := range all {
		if len(list) == want {
			break
		}
		f, err := claim.Lock(filepath.Join(dir, strconv.Itoa(n)))
		if err == nil {
			list, locks = append(list, n), append(locks, f)
		}
	}
	if len(list) == want {
		return list, locks
	}
	closeAll(locks)
	return nil, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
