// Package bundle writes a finished run to one file and checks such a file on
// another machine.
//
// # The file
//
// A bundle is an uncompressed tar in the layout of an OCI image, so that
// registries and their tools can carry it:
//
//	oci-layout
//	index.json                 names the manifest
//	README.md                  how to check it
//	blobs/sha256/<digest>      manifest, list of contents, and files
//
// The manifest's config is the list of contents: every file by path, digest and
// size. The manifest's layers are the files, each titled with its path. Files
// of equal bytes are one blob. Blobs come in the order of their digests, and
// every other byte follows from the files: headers, padding and the three first
// entries have one form only. So the same run gives the same bytes, and no byte
// can be changed, added or dropped unseen.
//
// # What is in it
//
//	run.json          what was run, when and by which version
//	environment.json  on what machine, without its name
//	pipeline/         the text of the pipeline; its variables are in run.json
//	lock.hcl          inputs and results of every step; see engine/lockfile
//	plan.json, events.jsonl, logs/
//	records.jsonl     what the steps gave, by digest
//	chain.jsonl       every attempt that the cache began, by digest
//	outputs/          what agents gave, grading reports and leaderboards
//	trees/            directories of these outputs, as the cache keeps them
//	packs/            outputs of many files, each with its directories and
//	                  files as blobs of a tar in the order of their digests
//	competitions.json the definitions that were used, by digest
//	disclosure.json, disclosure.md
//	omitted.json      what is not in it, and why
//	provenance.json   an in-toto statement with SLSA provenance
//	provenance.dsse.json  the same, signed
//
// # What never is
//
// Raw data, prepared data and answers, which are there by digest only: content
// is taken from agent-run, grade and aggregate steps, and from any step without
// private inputs whose output was graded; of that no file which is one of the
// data's, but for the graded file itself, and none of the answers. What steps of
// other kinds printed or computed of private data is withheld. Secrets are not
// in the run history and not in the cache; whatever credentials the environment holds
// are looked for all the same, and a bundle that would hold one is not written.
// Names of hosts and folders of the machine are masked in what mleflow wrote.
// What agents wrote is taken as it is, since its digest is the result. Of the
// names of their files, bytes that are not UTF-8, control characters, backslash
// and percent sign are written as %XX.
package bundle
