// Package message reads what is said in the bodies of requests and responses of
// the three dialects: texts, reasoning, calls of tools and their results. It is
// for people and exports; nothing that the gateway decides rests on it.
//
// It reads bodies that may be damaged, cut or hostile: what it does not
// understand it leaves out or names by its type, and it never fails.
package message
