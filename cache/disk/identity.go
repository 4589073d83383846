package disk

import "github.com/mleflow/mleflow/cache/digest"

// ID is the identity of the bytes written so far. Who needs it before Commit
// asks for it by an interface of its own, and so hashes nothing twice.
func (in *keyedIngest) ID() digest.ContentID { return in.hash.ID() }
