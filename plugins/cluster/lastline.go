package cluster

import "strings"

// LastLine returns the last line of a worker's output that is not blank, at most 500
// bytes of it.
func LastLine(printed string) string {
	printed = strings.TrimSpace(printed)
	last := printed[strings.LastIndexByte(printed, '\n')+1:]
	return strings.ToValidUTF8(last[:min(len(last), 500)], "\uFFFD")
}
