package cluster

import "strings"

// LastLine is the last line of what a worker printed that is not blank, at most 500
// bytes of it.
func LastLine(printed string) string {
	printed = strings.TrimSpace(printed)
	last := printed[strings.LastIndexByte(printed, '\n')+1:]
	return strings.ToValidUTF8(last[:min(len(last), 500)], "\uFFFD")
}
