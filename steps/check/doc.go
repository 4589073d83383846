// Package check is the step kind "check": it applies the rules of competitions/rules to
// the results of an attempt.
//
// Its findings are evidence for people and never a verdict: no score depends on them.
package check
