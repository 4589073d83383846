// Package competitions holds the definitions of the competitions: one folder
// each with a competition.hcl and the data that file names (class lists,
// leaderboards), compiled into the binary.
//
// # Vocabulary
//
//   - A definition is what one competition.hcl says: facts (title, category,
//     complexity), sources of the raw data, parameters, locals, how to prepare,
//     how to grade, pins (MD5 of the reference, digest of our manifest) and the
//     human leaderboard that gives the medals.
//   - A parameter is a size fixed for the full data; its default is the
//     reference's, and --param overrides it for smaller data.
//   - An erratum adds version v2 of a competition, which fixes a defect
//     of the reference without changing published scores.
//   - A set is a named list of competitions: low, medium, high, dev, lite, all,
//     systemcard, demo.
//
// # Invariants
//
//   - Decoding is strict: an unknown name is a diagnostic with file, range and
//     the nearest known name.
//   - The bodies of prepare and grade stay undecoded here. Packages
//     competitions/prep and competitions/grading decode them against the same
//     evaluation context (Definition.EvalContext), so that both see the same
//     locals and parameters.
//   - PrepareDigest changes exactly when something that preparation can see
//     changes; GradeDigest likewise. The engine's keys are built from them.
//
// The package reads no raw data and writes nothing.
package competitions
