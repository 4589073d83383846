package cache

import (
	"context"
	"errors"
)

var (
	// ErrSpace says that the file system of the cache has not enough space,
	// after everything that may be evicted was evicted.
	ErrSpace = errors.New("not enough disk space for the cache")
	// ErrReserved comes along with ErrQuota or ErrSpace when the room would
	// do, were it not reserved by work that is going on: it may be asked for
	// again when that has ended.
	ErrReserved = errors.New("reserved by work that is going on")
)

// Reserver is a Store that sets room aside before work begins, so that work
// which fits when it starts also fits when it ends.
type Reserver interface {
	// Reserve sets bytes of the quota and of the file system aside, evicting
	// what may be evicted when it has to. An error wraps ErrQuota when the
	// quota cannot hold them, and ErrSpace when the disk cannot; nothing is
	// evicted then.
	//
	// What the process ingests from now on draws on its reservations before
	// it takes more room. An ingest that is dropped gives back what it drew.
	// With a context made by WithAccount, and those derived from it, only
	// ingests of the same account draw on the reservation. Otherwise nothing
	// tells whose bytes are whose: as long as each piece of work stays within
	// what it reserved, none runs out, but what is left when one of several
	// ends is given back only later.
	//
	// Release gives back what is left, once however often it is called. A
	// reservation ends with its process.
	Reserve(ctx context.Context, bytes int64) (release func(), err error)
}

// Keeper gives out work folders that may outlive their process, on the same
// file system as the store.
type Keeper interface {
	// Keep returns the folder of a key, made empty when there is none yet.
	// One process at a time holds it: Keep waits until no other does, or ctx
	// ends. Release with keep leaves the folder for the next Keep of the key,
	// and without removes it; a second call does nothing. The folder of a process that dies is kept. No
	// clean-up ever removes it.
	Keep(ctx context.Context, key string) (dir string, release func(keep bool) error, err error)
	// Kept returns the folders there are, sorted by key.
	Kept(ctx context.Context) ([]Kept, error)
}

// Kept is a work folder of a Keeper.
type Kept struct {
	Key string `json:"key"`
	Dir string `json:"dir"`
	// Held says that a live process holds the folder.
	Held bool `json:"held"`
}

type accountKey struct{}

// WithAccount returns a context for one piece of work: what is reserved with
// it is drawn on by what is ingested with it, and by nothing else that has an
// account.
func WithAccount(ctx context.Context) context.Context {
	return context.WithValue(ctx, accountKey{}, new(byte))
}

// Account returns what tells the accounts of contexts apart, or nil.
func Account(ctx context.Context) any { return ctx.Value(accountKey{}) }
