package disk

import "github.com/mleflow/mleflow/cache/digest"

// ID returns the identity of the bytes written so far. A caller that needs it
// before Commit uses it through its own interface, which saves hashing twice.
func (in *keyedIngest) ID() digest.ContentID { return in.hash.ID() }
