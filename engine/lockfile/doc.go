// Package lockfile reads, writes and compares lock files. A lock file pins the
// inputs and outputs of a pipeline's steps as text that people can review.
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
// There is one step block per instance, sorted by address. Inputs are the
// labelled fields of its key, sorted by label. Outputs are contents by kind and
// digest, and small values in JSON. A repeated label is numbered from its
// second occurrence: "source MD5 (2)".
//
// The output of a varying step, such as an agent, differs each time. The lock
// pins its inputs, and its outputs only on request. Otherwise an input that
// holds such an output has the output's origin instead of its digest, and the
// step that has the input has no action.
//
// The lock in a bundle is stricter and discloses less. A step with a varying
// input keeps its action: a run with the same action must have the same
// outputs, and a run with a different submission is not compared. An input or
// small value that may not be published is "(withheld: why)" and is not
// compared. The action is compared instead of such inputs. Content is never
// withheld.
//
// The same content has the same bytes on every machine. The package reads no
// cache and runs nothing.
package lockfile
