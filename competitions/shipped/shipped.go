// Package shipped holds the competitions that are part of the program: a folder
// for each, named by its ID.
package shipped

import "embed"

// FS has the folders of all shipped competitions.
//
//go:embed */competition.hcl */checksums.lock */manifest*.json */*.txt */data/* */rehearsal.tar.zst
var FS embed.FS
