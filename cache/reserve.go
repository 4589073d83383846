package cache

import (
	"context"
	"errors"
)

var (
	// ErrSpace means that the file system of the cache has too little space, even after
	// everything that may be evicted was evicted.
	ErrSpace = errors.New("not enough disk space for the cache")
	// ErrReserved accompanies ErrQuota or ErrSpace if the space would suffice
	// without the reservations of running work. The caller may try again when that
	// work has ended.
	ErrReserved = errors.New("reserved by running work")
)

// Reserver is a Store that reserves space before work begins, so that work
// which fits when it starts also fits when it ends.
type Reserver interface {
	// Reserve reserves bytes of the quota and of the file system, and evicts records if
	// it has to. An error wraps ErrQuota if the quota cannot hold the bytes, and
	// ErrSpace if the disk cannot; then nothing is evicted.
	//
	// Ingests of the process draw on its reservations before they take more space. An
	// ingest that is dropped returns the bytes that it drew. With a context made by
	// WithAccount, and those derived from it, only ingests of the same account draw on
	// the reservation. Without accounts, all work of the process shares its
	// reservations: as long as each piece of work stays within its reservation, none
	// runs out, but bytes that one of several leaves when it ends are returned only
	// later.
	//
	// Release returns the rest of the reservation; further calls do nothing. A
	// reservation ends with its process.
	Reserve(ctx context.Context, bytes int64) (release func(), err error)
}

// Keeper provides work folders that may outlive their process, on the same file
// system as the store.
type Keeper interface {
	// Keep returns the folder of a key, and creates it, empty, if it does not
	// exist. One process at a time holds it: Keep waits until no other does, or
	// ctx ends. Release with keep leaves the folder for the next Keep of the key;
	// without keep, it removes the folder. A second call does nothing. The folder
	// of a process that dies is kept. No clean-up ever removes it.
	Keep(ctx context.Context, key string) (dir string, release func(keep bool) error, err error)
	// Kept returns all kept folders, sorted by key.
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

// WithAccount returns a context for one piece of work. What is reserved with it
// can only be drawn on by what is ingested with it, or without any account.
func WithAccount(ctx context.Context) context.Context {
	return context.WithValue(ctx, accountKey{}, new(byte))
}

// Account returns the account of a context, or nil.
func Account(ctx context.Context) any { return ctx.Value(accountKey{}) }
