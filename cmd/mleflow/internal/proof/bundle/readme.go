package bundle

// readmeText is README.md of a bundle.
const readmeText = `# A run of mleflow

This file is the record of one run: what went in, what agents submitted, how it
was graded, and the leaderboard. It holds no data of the competitions and no
answers; those are named by digest.

Check it, offline and on any machine:

    mleflow verify FILE
    mleflow verify FILE --public-key KEY.pem     when it is signed
    mleflow verify FILE --regrade --data-dir DIR when you have the prepared data

The first checks every byte of it, what its files say of each other, and makes
the leaderboard again from the grading reports. The last scores the submissions
again with the answers that you prepared yourself; without it, scores are claims,
and the exit status is 5. That an agent made the submissions is always a claim.

It is a tar file in the layout of an OCI image: tar and registries can read it,
and the blobs' names are the SHA-256 of their content. The manifest that
index.json names lists every file with its path. Start with disclosure.md, then
lock.hcl (inputs and results of every step) and omitted.json (what is not here,
and why). provenance.json is an in-toto statement with SLSA provenance.

Unsigned, it proves that it fits together, not who made it.
`
