// Package kaggletest is a stand-in for Kaggle's public API and for the storage
// that its downloads redirect to, for tests.
//
// # What it imitates
//
// The API, below Server.Endpoint (the value of KAGGLE_API_ENDPOINT), as
// Kaggle's own clients use it:
//
//	GET /api/v1/competitions/get/{name}
//	GET /api/v1/competitions/data/list/{name}?pageSize=&pageToken=
//	GET /api/v1/competitions/data/summary/{name}
//	GET /api/v1/competitions/data/download-all/{name}
//	GET /api/v1/competitions/{name}/leaderboard/view?pageSize=&pageToken=
//	POST /api/v1/users.AccountService/GenerateAccessToken
//
// with a bearer token or user and key; errors are {"code":…,"message":…}: 401
// for a wrong credential, 403 for rules that were not accepted, 404 for what
// does not exist. A download redirects (302) to another host, to an address
// with a signature, which that host checks. It knows no credential, gives
// ranges, and sends an ETag, Last-Modified and X-Goog-Hash as Google's storage
// does. The last of these gives a token of hours to a login, by its refresh token,
// which the client's "kaggle auth login" keeps; 401 once that has been revoked.
//
// # Faults
//
// A Plan decides for each request what goes wrong; Seeded makes one that is the
// same for the same seed. Stats say what was sent, so that a test can tell how
// much was sent twice.
package kaggletest
