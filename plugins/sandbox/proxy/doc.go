// Package proxy is the only way out for an agent whose network is a list of places: a
// forward proxy that allows only these places and records every connection.
//
// # What it lets through
//
//   - CONNECT host:port to a place on the list, if the client then begins a TLS
//     session for that same host: the server name in its ClientHello must be the
//     host of the CONNECT. TLS is not terminated; the bytes are passed on
//     unchanged. A place that is an address needs no name.
//   - Plain HTTP requests in absolute form (GET http://host:port/path) to a
//     place on the list. The request is rewritten from its parsed form, one
//     request per connection, so that no two parsers can disagree about it. Its
//     Host is the host in the URL.
//
// # Places
//
// "api.openai.com:443" is that host and port. "*.example.com:443" is every name below
// example.com at any depth, but not example.com itself. "127.0.0.1:8080" and
// "[::1]:8080" are addresses. Names are compared without regard to case and without a
// final dot.
//
// # Resolution of names
//
// The host resolves a name once and dials the same address that it judged. Names that
// are not on the list are not even resolved. Loopback, private and other addresses that
// are not public are refused, and so are those of this machine. One such address among
// several refuses them all, unless the place on the list permits it: as an address, or
// as a name that is private by its form (localhost, a name of one word, or one below
// localhost, local, lan, internal, intranet, corp or home.arpa). Link-local, multicast
// and metadata addresses are never dialled.
//
// # What it cannot see
//
// Within a TLS session, a client may ask an allowed server for anything that the server
// has. If many sites share one server (a content delivery network), the name outside
// may be an allowed one while the client asks for another one inside. An encrypted
// ClientHello would make that invisible and is refused.
package proxy
