package app

import "github.com/mleflow/mleflow/competitions"

// Library is the competitions that a command knows.
type Library struct {
	*Terminal

	// CompetitionDirs are folders of competitions that the command line names,
	// named those that the pipeline does.
	CompetitionDirs []string
	Named           []competitions.Folder
	// folder is that of the pipeline, "" if there is none.
	folder string
}

// OwnCompetitions is the folder in which competition new writes.
const OwnCompetitions = "competitions"
