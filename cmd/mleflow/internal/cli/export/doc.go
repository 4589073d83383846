// Package export has the command export.
package export
