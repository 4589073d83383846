// Package proxy is the only way out for an agent whose network is a list of
// places: a forward proxy that knows the list and writes down every connection.
//
// # What it lets through
//
//   - CONNECT host:port to a place on the list, if what the client then says is
//     the beginning of a TLS session for that very host: the server name in its
//     ClientHello must be the host of the CONNECT. TLS is not terminated; what
//     was read is passed on as it is. A place that is an address needs no name.
//   - Plain HTTP requests in absolute form (GET http://host:port/path) to a
//     place on the list. The request is rewritten from what was understood,
//     one request to a connection, so that no two readers of one text can
//     disagree; its Host is that of the address.
//
// # Places
//
// "api.openai.com:443" is that host and port, "*.example.com:443" every name
// below example.com at any depth but not example.com itself, "127.0.0.1:8080"
// and "[::1]:8080" an address. Names are compared without regard to case and
// without a final dot.
//
// # Where names lead
//
// The host resolves a name once and dials the very address it judged. Names
// that are not on the list are not even looked up. Loopback, private and other
// addresses that are not public, and those of this machine, are refused, and
// one such among several refuses them all, unless the place on the list says
// so itself: as an address, or as a name that is private by its form
// (localhost, a name of one word, or one below localhost, local, lan, internal,
// intranet, corp or home.arpa). Link-local, multicast and metadata addresses
// are never dialled.
//
// # What it cannot see
//
// Within a TLS session a client may ask an allowed server for anything that
// this server has. Where many sites share one server (a content network), the
// name outside may be allowed and another one be asked for inside. An encrypted
// ClientHello would make that invisible and is refused.
package proxy
