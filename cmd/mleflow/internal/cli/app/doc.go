// Package app is what all commands share: the terminal, the cache and the
// competitions that flags name, exit statuses, and the words of errors. The packages
// beside it are rooms of commands, which import it and know nothing of the root.
package app
