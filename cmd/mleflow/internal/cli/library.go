package cli

import "github.com/mleflow/mleflow/competitions"

// library is the competitions that a command knows.
type library struct {
	*terminal

	// competitionDirs are folders of competitions that the command line names,
	// named those that the pipeline does.
	competitionDirs []string
	named           []competitions.Folder
}
