package app

import (
	"errors"

	"github.com/mleflow/mleflow/cache/disk"
)

// Store is where results are kept: the cache, the record of runs, the remote
// cache behind them and the network that data are fetched from.
type Store struct {
	*Terminal

	CacheDir string
	// RemoteCache is the address of the remote cache, or empty.
	RemoteCache string
	// Network are the flags of commands that fetch data.
	Network networkFlags
}

// WithCache opens the cache for one command.
func (s *Store) WithCache(run func(*disk.Cache) error) (err error) {
	c, err := s.OpenCache()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return run(c)
}
