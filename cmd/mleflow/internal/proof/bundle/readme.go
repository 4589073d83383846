package bundle

import _ "embed"

// readmeText is README.md of a bundle.
//
//go:embed readme.md
var readmeText string
