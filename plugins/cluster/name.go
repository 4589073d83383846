package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// JobName returns the name of an action's job, a valid DNS label with 160 bits of the
// action's digest. The digest is given in hexadecimal digits.
func JobName(action string) string { return Label + "-" + action[:min(len(action), 40)] }

// Rank orders nodes for a job by rendezvous hashing. Jobs with an equal Near have the
// same order, other jobs have others. A node that comes or goes leaves the order of
// the rest unchanged.
func Rank(near string, nodes []string) []string {
	weight := make(map[string]uint64, len(nodes))
	for _, n := range nodes {
		sum := sha256.Sum256([]byte(near + "\x00" + n))
		weight[n] = binary.BigEndian.Uint64(sum[:8])
	}
	ranked := slices.Clone(nodes)
	slices.SortFunc(ranked, func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
	})
	return ranked
}
