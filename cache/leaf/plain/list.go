package plain

import (
	"fmt"
	"strings"
)

// listed is the largest number of names in a List.
const listed = 12

// List joins names for a message: all of them, or the first dozen and the total
// number.
func List(names []string) string {
	if len(names) > listed {
		return fmt.Sprintf("%s, … (%d)", strings.Join(names[:listed], ", "), len(names))
	}
	return strings.Join(names, ", ")
}
