// Package verify judges the scores of a bundle by what the verifier has: his own
// binary with its definitions and pins, and his own data. Nothing in a bundle
// vouches for itself.
//
// # The chain
//
// A row of a leaderboard is worth something if its report was given by a grade
// step, which compared a submission made without private data with the answers
// of a prepare step, by way of a checksum step or not, of the same competition
// in the same version, from what a download step of that competition gave; if
// the submission is what the attempt submitted, and no other file that it left;
// and if the agent saw the public half of that preparation. A chain that is
// broken is refused: its scores rest on nothing. The keys of these steps are
// computed by the verifier's own kinds and definitions and compared with the
// recorded ones. Of a key that depends on an image which the verifier does not
// have, the other fields are compared.
//
// # Answers
//
// Answers are never taken from a bundle, and never by a digest that only a
// bundle names. They are those that the verifier prepared in a data folder, or
// those in his cache of a prepare step that was done there, whose action he
// computes himself from his definitions, beginning with the download. Pins
// are compared in either case.
//
// # Public data
//
// A pipeline may bring its own raw data, and with them the answers among the
// public files. The public tree that the agent was given must have the digest that
// the definition pins together with the private one, or that of the verifier's own
// public files. Otherwise the row says that they were not checked.
//
// # What is left
//
// That an agent did what a record says cannot be shown by anyone who was not
// there. It is told as a claim, and whose.
package verify
