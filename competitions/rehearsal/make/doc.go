// Command make draws the raw data of a rehearsal: for each competition a small data set
// with the layout, the formats, the columns and the oddities of the real download.
//
//	go run ./competitions/rehearsal/make -o DIR [ID…]
//
// # Vocabulary
//
//   - An exercise is one competition's part: how its raw data are drawn, and a simple
//     model that learns from them.
//   - A set is the raw data of one exercise while they are drawn.
//   - A lesson is the prepared data of one exercise while its model learns.
//
// # Invariants
//
//   - The same exercise gives the same bytes: its only source of chance is seeded by the
//     competition's id.
//   - Nothing is copied: all values are drawn, with the names, types and ranges that the
//     competition's definition and public documentation give.
//   - Labels depend on features, so that the exercise's model beats the sample submission.
//   - A set has a few hundred rows, and 300 KB at most when packed.
package main
