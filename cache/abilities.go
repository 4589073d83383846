package cache

// Files is a Store whose content becomes files: placed at a path, or read at any
// offset. See Plain for a Store that can do neither.
type Files interface {
	Store
	Placer
	RandomStore
}

// Building is a Store in which trees are made, with a place for what exceeds the
// memory meanwhile.
type Building interface {
	Store
	Workspace
}

// Cache is everything that the engine and the steps ask of a cache. What an
// implementation cannot do, it says by an error or does the plain way, so that
// nobody has to ask which one it is.
type Cache interface {
	Files
	Index
	Locker
	Workspace
	Reserver
	Keeper
	Sharer
}
