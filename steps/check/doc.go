// Package check is the step kind "check": it looks through what an attempt left
// with the rules of competitions/rules.
//
// What it finds is evidence for people and never a verdict: no score depends on it.
package check
