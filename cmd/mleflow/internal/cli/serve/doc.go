// Package serve is the command serve: the pages and an HTTP API for several people over one
// cache. Package service runs what they submit.
//
// Routes has every route, with the role that it needs. From it come the handlers, the guard's
// decisions, the OpenAPI document and docs/reference-serve.md, so that a route which is not in it does not
// exist. A person is known by a token, a browser's cookie or the header of a reverse proxy.
// What a request says beside these is not believed.
package serve
