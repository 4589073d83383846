// Package lockfile reads, writes and compares lock files: what went into the
// steps of a pipeline and what came out, pinned as text that people read in
// review.
//
//	lock {
//	  format   = 1
//	  mleflow  = "0.2.0"
//	  pipeline = "lite.hcl"
//	}
//
//	step "prepare" "data" "leaf-classification" {
//	  action = "cba3427d…"
//	  inputs = {
//	    competition    = "leaf-classification"
//	    definition     = "ec437dde…"
//	    kind           = "prepare"
//	    "kind version" = "1"
//	    raw            = "f087f1e9…"
//	  }
//	  outputs = {
//	    private = "tree ec6df36d…"
//	    public  = "tree 6fe0faf3…"
//	  }
//	}
//
// There is one step block for each instance, sorted by address; inputs are the
// labelled fields of its key, sorted by label; outputs are contents by kind and
// digest, and small values in JSON. A label that occurs more than once is
// numbered from the second on: "source MD5 (2)".
//
// A step that varies, such as an agent, gives something else each time it is
// done. Its inputs are pinned, its outputs are not, unless that was asked for;
// then an input that holds such an output says where it comes from instead of
// its digest, and the step has no action.
//
// The lock in a bundle is stricter and tells less. An input that varies keeps
// the step's action next to it: anyone who runs the same action must get the
// same outputs, and with another submission nothing is compared. An input or a
// small value that may not be published is "(withheld: why)" and not compared;
// instead of such inputs the action is. Content is never withheld.
//
// The same content gives the same bytes, whatever the machine. The package
// reads no cache and runs nothing.
package lockfile
