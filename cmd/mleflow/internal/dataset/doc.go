// Package dataset keeps competitions' data in the folder layout of the
// reference, so that tools made for it work unchanged:
//
//	DIR/<id>/raw                  the unpacked download
//	DIR/<id>/prepared/public      what agents see
//	DIR/<id>/prepared/private     the answers
//	DIR/<id>/rehearsal.txt        the mark of data of a rehearsal
//
// Prepared folders appear whole or not at all. Pins are checked after
// preparing; what does not match stays in place to be looked at.
package dataset
