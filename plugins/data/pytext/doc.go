// Package pytext reads strings as Python does: what is white space, which
// strings int and float accept, and what str.split, strip and lower return.
package pytext
