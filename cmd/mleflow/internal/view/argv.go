package view

import "strings"

// GivenVariables are the values that a command line gives to variables.
func GivenVariables(argv []string) string {
	var given []string
	for i, arg := range argv {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || name != "var":
		case joined:
			given = append(given, value)
		case i+1 < len(argv):
			given = append(given, argv[i+1])
		}
	}
	return strings.Join(given, " ")
}
