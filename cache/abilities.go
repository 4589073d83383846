package cache

// Files is a Store that can place content as files and read it at any offset.
// Plain adapts a Store that can do neither.
type Files interface {
	Store
	Placer
	RandomStore
}

// Building is a Store in which trees are built. It lends a folder for entries
// that do not fit in memory.
type Building interface {
	Store
	Workspace
}

// Cache is the whole interface that the engine and the steps use. An
// implementation that cannot do something returns an error or falls back to the
// plain way, so callers never test for abilities.
type Cache interface {
	Files
	Index
	Locker
	Workspace
	Reserver
	Keeper
	Sharer
	LinkKeeper
	Relay
	Drafter
}
