package disk

// GCProgress is the progress of one part of a collection.
type GCProgress struct {
	// What is "counting", "looking for what nothing needs" or "evicting".
	What string
	// Done and Total are objects.
	Done, Total int64
	// Removed is the number of bytes that the collection has removed so far.
	Removed int64
}

// tell reports the progress.
func (g *collector) tell(what string, done, total int64) {
	if g.opts.Progress != nil {
		g.opts.Progress(GCProgress{what, done, total, g.res.Bytes})
	}
}
