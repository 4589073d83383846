// Package site builds a public board from bundles: a folder of static pages that
// work from a disk and from any web server.
//
// # What counts
//
// A row is an attempt at a competition that a bundle holds. It counts if the
// bundle is intact, its keys are those of this program, the submission was made
// by an agent-run step, and nothing shows that the score is wrong. Whether it was
// graded again here, or is only claimed, is told of each row and each agent.
//
// Rows under different tasks or versions of competitions are on tables of their
// own. Of several attempts of an agent at a competition with one seed, the
// earliest counts, never the best. An attempt that is in several bundles counts
// once.
//
// # Same input, same bytes
//
// Bundles are ordered by the digest of their manifests. No page holds the time,
// place or user of the build, and statistics are those of packages board and
// aggregate, with resampling from a fixed seed.
package site
