package competitions

// Set names a list of competitions.
type Set string

// setMembers says which complexities make up a set. The sets of the 75 follow
// the reference's splits; demo is ours and part of no other.
var setMembers = map[Set][]Complexity{
	"low":    {Low},
	"lite":   {Low},
	"medium": {Medium},
	"high":   {High},
	"all":    {Low, Medium, High},
	"dev":    {Dev},
	"demo":   {Demo},
}

// SetNames returns the names of the sets, sorted.
func SetNames() []string {
	return []string{"all", "demo", "dev", "high", "lite", "low", "medium"}
}
