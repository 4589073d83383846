// Package image is the step kind "image": a container image for agents, built without
// Docker and kept in the cache like any other result.
//
// # Contents
//
// An image is built from a base: an OCI layout or archive, an image of a registry
// pinned by its digest, a root file system in a tar, the output of another step, or
// nothing. Then come files of this machine, text files and outputs of other steps, and
// then commands that run in containers, one after the other, as root. The result is an
// OCI archive, a blob. An agent block uses it as image = step.image.NAME.image.
//
// # When it is built again
//
// The key contains everything: the digest of the base's manifest, the contents of the
// files and whether they are executable, texts, commands, configuration and the version
// of the kind. Files are read during planning. Commands that fetch files get the
// versions of that day. The result stays until an argument changes or -force is given,
// which is why the kind varies. Without commands, the image is the same to the bit
// wherever it is built.
//
// # What cannot get into it
//
// The kind is Untrusted: the engine refuses private outputs, such as answers. Files of
// this machine are refused if they are in the cache or in a folder "private" of
// prepared data (DIR/ID/prepared/private). Commands see the image, the network as far
// as the block allows, and nothing else of the machine. There are no secrets, because
// every copy of an image contains everything in it.
//
// # The network of the commands
//
// Commands have no network, a list of destinations through a proxy (package proxy), or
// the machine's network. If SSL_CERT_FILE in the environment of mleflow names a bundle
// of certificates, as on networks that inspect TLS, commands with a network get it too:
// under /dev, and in the variables that the usual programs read. It does not get into
// the image.
package image
