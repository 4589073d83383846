// Package judge asks a language model questions about an attempt and makes
// findings of its answers.
//
// An opinion is evidence of the weakest kind: a note with the model's name. The
// package sends nothing itself. It chooses what is shown (Material), writes the
// request (Request), and reads the answers (Read): each needs quotations, and one
// that is nowhere in the material is marked as not found. The same attempt, profile
// and answers give the same findings.
//
// The attempt may have been written to deceive its judge. What it says stands
// between lines that it cannot have written, since they hold a digest of it, and
// the instructions say that it is no instruction. That a model obeys is not
// certain. Nothing but notes follows from its answers.
package judge
