// Package checksum is the step kind "checksum": it lets prepared data through
// only when they are what the competition pins.
//
// Pins are the MD5 of files as the reference wrote them, and the digest of a
// manifest of every file. The manifest is the canonical encoding (package
// cache/tree) of a folder that holds public/ and private/; its SHA-256 changes
// when any file's path, bytes or executable bit do.
package checksum
