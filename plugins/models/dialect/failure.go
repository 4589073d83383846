package dialect

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// failurePaths are the paths at which providers and compatible servers report
// an error within a response.
var failurePaths = []string{
	"error", "error.message", "error.type", "error.code", "error.status",
	"response.error.message", "response.error.code", "choices.[].error.message", "choices.[].error.code", "choices.[].finish_reason",
	"object", "type", "status", "message", "code",
}

// failure extracts the error that a JSON text or event reports.
func (m *meter) failure() {
	got := m.got
	text := ""
	switch kind := got["type"]; {
	case got["error"] != "" && got["error"] != "false":
		text = got["error"]
	case firstOf(got, "error.message", "error.type", "error.code", "error.status") != "":
		text = firstOf(got, "error.message", "error.type", "error.code", "error.status")
	case string(m.events.name) == "error", kind == "error", got["object"] == "error", kind == "response.failed",
		got["object"] == "response" && got["status"] == "failed":
		text = firstOf(got, "response.error.message", "message", "response.error.code", "code", "type", "object")
		text = cmp.Or(text, "the provider reports an error without a word")
	case firstOf(got, "choices.[].error.message", "choices.[].error.code") != "":
		text = firstOf(got, "choices.[].error.message", "choices.[].error.code")
	case slices.Contains(strings.Fields(got["choices.[].finish_reason"]), "error"):
		text = "the model stopped with finish_reason error"
	default:
		return
	}
	m.failed = text
	m.status = statusOf(got)
}

// mistakes are substrings of the names of client errors. A retry does not help
// against them.
var mistakes = []string{
	"invalid", "badrequest", "bad_request", "not_found", "notfound", "permission", "authentication", "unauthorized", "too_large", "context_length",
	"billing", "content_policy", "content_filter", "unprocessable", "failed_precondition",
}

// statusOf returns the HTTP status that corresponds to an error within a
// response. An error that is not known to be the client's mistake is the
// provider's.
func statusOf(got map[string]string) int {
	var names []string
	for _, p := range []string{"error.code", "choices.[].error.code", "response.error.code", "code", "error.type", "error.status", "type"} {
		if n, err := strconv.Atoi(got[p]); err == nil && n >= 400 && n < 600 {
			return n
		}
		names = append(names, strings.ToLower(got[p]))
	}
	all := strings.Join(names, " ")
	for _, busy := range []string{"rate_limit", "too_many", "resource_exhausted", "quota"} {
		if strings.Contains(all, busy) {
			return http.StatusTooManyRequests
		}
	}
	for _, own := range mistakes {
		if strings.Contains(all, own) {
			return http.StatusBadRequest
		}
	}
	return http.StatusInternalServerError
}
