// Package footprint estimates the disk that a competition's data need, before
// anything of them is there, from the one figure that its definition has: the
// size of the files that Kaggle lists (size_gb).
//
// # How
//
//   - The download is at most as large as the files in it.
//   - Unpacked, the data are as large as the files, times a factor where there
//     are archives among them that are unpacked as well: 4 where all of those
//     hold text (tables and the like shrink to a quarter or less), 1.5 where
//     some may, as pictures and sound do not shrink.
//   - Preparation copies files without storing them again. The tables that it
//     writes take as much as the raw data if these are only tables, and a tenth
//     of that if other files are copied. The archives that it packs take as
//     much as the raw data.
//
// The factors are chosen to err on the large side. A size that was measured or
// asked for is always better and replaces size_gb.
package footprint
