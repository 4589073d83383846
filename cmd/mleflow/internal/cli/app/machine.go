package app

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// Machine is the one that mleflow runs on.
func (s *Store) Machine() (m machine.Machine, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, fmt.Errorf("find the running program: %w", err)
	}
	folder, err := s.CacheFolder()
	home, _ := os.UserHomeDir()
	try := sync.OnceValue(func() executor.Availability { return machine.TrySandbox(self, filepath.Join(folder, "sandbox")) })
	return machine.Machine{Root: "/", Home: home, Env: s.Env, CacheDir: folder, UID: os.Geteuid(), Sandbox: try, Refused: sandbox.RefusedCalls}, err
}
