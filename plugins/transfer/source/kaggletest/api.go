package kaggletest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// routes is the API.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]func(http.ResponseWriter, *http.Request, *held){
		"get/{name}":               s.get,
		"data/list/{name}":         s.list,
		"data/summary/{name}":      s.summary,
		"data/download-all/{name}": s.downloadAll,
		"{name}/leaderboard/view":  s.leaderboard,
	} {
		mux.HandleFunc("GET /api/v1/competitions/"+pattern, func(w http.ResponseWriter, r *http.Request) { s.authorized(w, r, handle) })
	}
	mux.HandleFunc("POST /api/v1/users.AccountService/GenerateAccessToken", s.grant)
	return mux
}

// grant gives a token to a login.
func (s *Server) grant(w http.ResponseWriter, r *http.Request) {
	s.stats.Asked.Add(1)
	if s.call(r, true).early(w) {
		return
	}
	var asked struct{ RefreshToken, APIVersion, ExpirationDuration string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.APIVersion != "API_VERSION_V1" || asked.ExpirationDuration != "43200s" {
		refuse(w, http.StatusBadRequest, "Bad request")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.RefreshToken != Refresh || s.loggedOut {
		refuse(w, http.StatusUnauthorized, "Unauthenticated: "+asked.RefreshToken)
		return
	}
	token := fmt.Sprintf("canary0access0token%d", s.stats.Granted.Add(1))
	s.granted[token] = true
	reply(w, map[string]any{"token": token, "expiresIn": 43200, "userName": User, "userId": 1})
}

// authorized checks what the API checks first.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request, handle func(http.ResponseWriter, *http.Request, *held)) {
	s.stats.Asked.Add(1)
	if s.call(r, true).early(w) {
		return
	}
	user, key, _ := r.BasicAuth()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	granted := s.granted[token]
	s.mu.Unlock()
	if token != Token && !granted && (user != User || key != Key) {
		refuse(w, http.StatusUnauthorized, "Unauthenticated")
		return
	}
	s.mu.Lock()
	c := s.competitions[r.PathValue("name")]
	s.mu.Unlock()
	if c == nil {
		refuse(w, http.StatusNotFound, "Competition not found")
		return
	}
	handle(w, r, c)
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "message": message})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) get(w http.ResponseWriter, _ *http.Request, c *held) {
	reply(w, map[string]any{
		"ref": "https://www.kaggle.com/competitions/" + c.Slug, "title": c.Title, "evaluationMetric": c.Metric,
		"userHasEntered": c.Rules == Accepted, "submissionsDisabled": false,
		"deadline": c.Deadline.Format(time.RFC3339), "teamCount": cmp.Or(c.Teams, len(c.board())),
	})
}

// allowed refuses data that the account may not access.
func allowed(w http.ResponseWriter, c *held) bool {
	switch {
	case c.Withdrawn:
		refuse(w, http.StatusNotFound, "Not found")
	case c.Rules == NotAccepted:
		refuse(w, http.StatusForbidden, "You must accept this competition's rules before you'll be able to download files.")
	default:
		return true
	}
	return false
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, c *held) {
	if !allowed(w, c) {
		return
	}
	size, err := strconv.Atoi(r.URL.Query().Get("pageSize"))
	if err != nil || size < 1 {
		size = 20
	}
	token, _ := base64.URLEncoding.DecodeString(r.URL.Query().Get("pageToken"))
	first, _ := strconv.Atoi(string(token))
	last := min(first+min(size, 200), len(c.Files))
	page := map[string]any{"files": []any{}, "nextPageToken": ""}
	var files []any
	for _, f := range c.Files[min(first, last):last] {
		files = append(files, map[string]any{"ref": f.Name, "name": f.Name, "totalBytes": f.Bytes, "creationDate": "2020-01-01T00:00:00Z"})
	}
	page["files"] = files
	if last < len(c.Files) {
		page["nextPageToken"] = base64.URLEncoding.EncodeToString([]byte(strconv.Itoa(last)))
	}
	reply(w, page)
}

// leaderboard returns a page of the private leaderboard, or of the public one
// while there is no private one.
func (s *Server) leaderboard(w http.ResponseWriter, r *http.Request, c *held) {
	board := c.board()
	size, err := strconv.Atoi(r.URL.Query().Get("pageSize"))
	if err != nil || size < 1 {
		size = 20
	}
	token, _ := base64.URLEncoding.DecodeString(r.URL.Query().Get("pageToken"))
	first, _ := strconv.Atoi(string(token))
	last := min(first+min(size, 200), len(board))
	if c.Top > 0 {
		first, last = 0, min(c.Top, len(board))
	}
	rows := []any{}
	for i, score := range board[min(first, last):last] {
		row := map[string]any{"teamId": first + i, "teamName": fmt.Sprintf("team %d", first+i), "submissionDate": "2020-01-01T00:00:00Z"}
		if score != "" {
			row["score"] = score
		}
		rows = append(rows, row)
	}
	page := map[string]any{"submissions": rows, "nextPageToken": ""}
	if c.Top == 0 && last < len(board) {
		page["nextPageToken"] = base64.URLEncoding.EncodeToString([]byte(strconv.Itoa(last)))
	}
	if c.Spoil != nil {
		c.Spoil(page)
	}
	reply(w, page)
}

func (s *Server) summary(w http.ResponseWriter, _ *http.Request, c *held) {
	if c.NoSummary {
		refuse(w, http.StatusNotFound, "Not found")
		return
	}
	if !allowed(w, c) {
		return
	}
	type kind struct {
		Extension string `json:"extension"`
		FileCount int    `json:"fileCount"`
		TotalSize int64  `json:"totalSize"`
	}
	var kinds []*kind
	byName := map[string]*kind{}
	for _, f := range c.Files {
		k := byName[path.Ext(f.Name)]
		if k == nil {
			k = &kind{Extension: path.Ext(f.Name)}
			byName[k.Extension], kinds = k, append(kinds, k)
		}
		k.FileCount++
		k.TotalSize += f.Bytes
	}
	reply(w, map[string]any{"fileSummaryInfo": map[string]any{"totalFileCount": len(c.Files), "fileTypes": kinds}})
}

func (s *Server) downloadAll(w http.ResponseWriter, r *http.Request, c *held) {
	if !allowed(w, c) {
		return
	}
	query := url.Values{
		"GoogleAccessId": {"web-data@kaggle.example"}, "Expires": {"1900000000"}, "Signature": {s.sign()},
		"response-content-disposition": {"attachment; filename=" + c.Slug + ".zip"},
	}
	http.Redirect(w, r, s.Storage()+"/kaggle-competitions-data/"+c.Slug+"/archive.zip?"+query.Encode(), http.StatusFound)
}

// sign creates a signature that is valid until it expires.
func (s *Server) sign() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signed++
	signature := fmt.Sprintf("canary-signature-%d", s.signed)
	s.signatures[signature] = true
	return signature
}

// checks reports whether a request has a valid signature.
func (s *Server) checks(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signatures[r.URL.Query().Get("Signature")]
}

// expire ends all signatures.
func (s *Server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expired++; s.expired < 3 {
		clear(s.signatures)
	}
}

// archiveOf returns the competition whose archive a path names.
func (s *Server) archiveOf(path string) *held {
	slug, _, _ := strings.Cut(strings.TrimPrefix(path, "/kaggle-competitions-data/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.competitions[slug]
}
