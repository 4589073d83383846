// Package image is the step kind "image": a container image for agents, made
// without Docker, kept in the cache like any other result.
//
// # What it is made of
//
// A base (an OCI layout or archive, an image of a registry pinned by its digest,
// a root file system in a tar, the output of another step, or nothing), then
// files of this machine, text files and outputs of other steps, then commands that
// are run in containers, one after the other, as root. The result is an OCI
// archive, a blob. An agent block takes it: image = step.image.NAME.image.
//
// # When it is made again
//
// In the key are all of it: the digest of the base's manifest, the contents of
// the files and whether they are executable, texts, commands, configuration and
// the version of the kind. Files are read while planning. Commands that fetch
// something get what there is that day; the result stays until an argument
// changes or -force is given, which is why the kind varies. Without commands the
// image is the same to the bit wherever it is made.
//
// # What cannot get into it
//
// The kind is Untrusted: the engine refuses outputs that are private, such as
// answers. Files of this machine are refused where they are in the cache or in
// a folder "private" of prepared data (DIR/ID/prepared/private). Commands see
// the image, the network as far as the block says, and nothing else of the
// machine. There are no secrets: what is in an image is in every copy of it.
//
// # The network of the commands
//
// None, a list of places by a proxy (package proxy), or the machine's. Where the
// environment of mleflow names a bundle of certificates in SSL_CERT_FILE, as on
// networks that inspect TLS, commands with a network get it too, under /dev and
// in the variables that the usual programs read. It does not get into the image.
package image
