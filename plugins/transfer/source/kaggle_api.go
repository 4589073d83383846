package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Inspect implements Inspector. It requests the competition, the first byte of
// its archive, which requires accepted rules, and a summary of its files.
func (k *Kaggle) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	a, err := with(ctx, k, spec.Slug, func(s *kaggleSession) (Availability, error) { return k.inspect(ctx, spec, s) })
	if err != nil {
		return Availability{}, fmt.Errorf("ask Kaggle about %s: %w", spec.Slug, err)
	}
	return a, nil
}

func (k *Kaggle) inspect(ctx context.Context, spec Spec, s *kaggleSession) (Availability, error) {
	about, err := s.competition(ctx, spec.Slug)
	if err != nil {
		return Availability{}, err
	}
	a, err := k.http.inspect(ctx, spec, s.archive(spec.Slug))
	if err != nil {
		return Availability{}, err
	}
	a.Files, a.Unpacked, err = s.files(ctx, spec.Slug)
	switch {
	case ctx.Err() != nil:
		return Availability{}, context.Cause(ctx)
	case err != nil:
		a.Files, a.Unpacked = 0, 0
		a.Note = "Kaggle does not list its files"
	case !about.UserHasEntered:
		a.Note = "not joined, though Kaggle gives the data"
	}
	return a, nil
}

// kaggleCompetition holds the fields of the API's answer about a competition that
// matter here.
type kaggleCompetition struct {
	Title            string `json:"title"`
	EvaluationMetric string `json:"evaluationMetric"`
	UserHasEntered   bool   `json:"userHasEntered"`
	Deadline         string `json:"deadline"`
	TeamCount        int    `json:"teamCount"`
}

// Page returns the title of a competition and the name of its metric, as Kaggle's page has them.
func (k *Kaggle) Page(ctx context.Context, slug string) (title, metric string, err error) {
	about, err := with(ctx, k, slug, func(s *kaggleSession) (kaggleCompetition, error) { return s.competition(ctx, slug) })
	if err != nil {
		return "", "", fmt.Errorf("ask Kaggle about %s: %w", slug, err)
	}
	return about.Title, about.EvaluationMetric, nil
}

// competition asks GET /competitions/get/{name}.
func (s *kaggleSession) competition(ctx context.Context, slug string) (c kaggleCompetition, err error) {
	return c, s.ask(ctx, s.at("/competitions/get/", slug), &c)
}

// kaggleSummary is the answer of GET /competitions/data/summary/{name}.
type kaggleSummary struct {
	FileSummaryInfo struct {
		TotalFileCount int
		FileTypes      []struct{ TotalSize int64 }
	}
}

// files returns the number and total size of a competition's files: from the
// summary if the server has one, otherwise from the list.
func (s *kaggleSession) files(ctx context.Context, slug string) (files int, bytes int64, err error) {
	var sum kaggleSummary
	err = s.ask(ctx, s.at("/competitions/data/summary/", slug), &sum)
	if err == nil && sum.FileSummaryInfo.TotalFileCount > 0 {
		for _, t := range sum.FileSummaryInfo.FileTypes {
			bytes += t.TotalSize
		}
		return sum.FileSummaryInfo.TotalFileCount, bytes, nil
	}
	return s.list(ctx, slug)
}

// kagglePage is one page of GET /competitions/data/list/{name}.
type kagglePage struct {
	Files         []struct{ TotalBytes int64 }
	NextPageToken string
}

// mostPages limits the number of requests for a list of files, with 200 files
// each.
const mostPages = 50

var errManyFiles = errors.New("the list of files is too long to count")

// list counts the files page by page.
func (s *kaggleSession) list(ctx context.Context, slug string) (files int, bytes int64, err error) {
	query := url.Values{"pageSize": {strconv.Itoa(200)}}
	for range mostPages {
		o := s.at("/competitions/data/list/", slug)
		o.url += "?" + query.Encode()
		var page kagglePage
		if err := s.ask(ctx, o, &page); err != nil {
			return 0, 0, err
		}
		for _, f := range page.Files {
			files, bytes = files+1, bytes+f.TotalBytes
		}
		if page.NextPageToken == "" {
			return files, bytes, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
	return 0, 0, errManyFiles
}

// mostJSON limits the size of an answer of the API.
const mostJSON = 8 << 20

// ask sends one request and decodes its answer.
func (s *kaggleSession) ask(ctx context.Context, o *origin, into any) error {
	r := &retrier{settings: s.http.settings, logf: func(string, ...any) {}, waiting: Request{}.waiting}
	r.patience = min(r.patience, longestWait)
	return o.masked(r.retry(ctx, func() (bool, error) {
		resp, err := o.get(ctx, nil)
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return false, o.refusal(resp)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, mostJSON))
		if err != nil {
			return false, &TemporaryError{Err: redactError(err)}
		}
		if page := pageOf(body); page != nil {
			return false, page
		}
		// A refusal may come with a success status.
		var refused struct{ Code int }
		if json.Unmarshal(body, &refused) == nil && refused.Code >= 400 {
			resp.StatusCode = refused.Code
			resp.Body = io.NopCloser(bytes.NewReader(body))
			return false, o.refusal(resp)
		}
		if err := json.Unmarshal(body, into); err != nil {
			return false, &TemporaryError{Err: errors.New("the answer is not the expected JSON")}
		}
		return false, nil
	}))
}

// Leaderboard is a competition's leaderboard as Kaggle has it now.
type Leaderboard struct {
	// Scores are the teams' scores in Kaggle's order, best first.
	Scores []float64
	// Unscored is the number of teams without a score.
	Unscored int
	// Deadline is when the competition ends. Until then Kaggle returns the public
	// leaderboard, afterwards the private one. Zero means unknown.
	Deadline time.Time
}

// Private reports whether, by the deadline, it is the final leaderboard.
func (b Leaderboard) Private(now time.Time) bool {
	return b.Deadline.IsZero() || b.Deadline.Before(now)
}

// boardPage is the requested page size. mostTeams limits a leaderboard;
// Kaggle's largest have tens of thousands of teams.
const (
	boardPage = 200
	mostTeams = 1_000_000
)

// kaggleBoard is one page of GET /competitions/{name}/leaderboard/view, which
// gives the private leaderboard where there is one.
type kaggleBoard struct {
	Submissions   []struct{ Score *string }
	NextPageToken string
}

// Leaderboard fetches the leaderboard of a competition. An incomplete one, as
// servers without pages return, is an error: medals would be wrong.
func (k *Kaggle) Leaderboard(ctx context.Context, slug string) (Leaderboard, error) {
	board, err := with(ctx, k, slug, func(s *kaggleSession) (Leaderboard, error) { return s.leaderboard(ctx, slug) })
	if err != nil {
		return Leaderboard{}, fmt.Errorf("fetch the leaderboard of %s from Kaggle: %w", slug, err)
	}
	return board, nil
}

func (s *kaggleSession) leaderboard(ctx context.Context, slug string) (Leaderboard, error) {
	about, err := s.competition(ctx, slug)
	if err != nil {
		return Leaderboard{}, err
	}
	board := Leaderboard{}
	if at, err := time.Parse(time.RFC3339, about.Deadline); err == nil {
		board.Deadline = at
	}
	query := url.Values{"pageSize": {strconv.Itoa(boardPage)}}
	seen := map[string]bool{}
	for {
		o := s.at("/competitions/", slug)
		o.url += "/leaderboard/view?" + query.Encode()
		var page kaggleBoard
		if err := s.ask(ctx, o, &page); err != nil {
			return board, err
		}
		if err := board.add(page); err != nil {
			return board, err
		}
		token := page.NextPageToken
		switch {
		case token == "":
			return board, board.whole(about.TeamCount)
		case seen[token], len(page.Submissions) == 0:
			return board, errors.New("it has too many pages")
		case len(board.Scores) > mostTeams:
			return board, fmt.Errorf("it has more than %d teams", mostTeams)
		}
		seen[token] = true
		query.Set("pageToken", token)
	}
}

// add takes the scores of a page.
func (b *Leaderboard) add(page kaggleBoard) error {
	for _, row := range page.Submissions {
		if row.Score == nil || *row.Score == "" {
			b.Unscored++
			continue
		}
		score, err := strconv.ParseFloat(*row.Score, 64)
		if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
			return fmt.Errorf("the score of place %d is %.40q, which is not a number", len(b.Scores)+1, *row.Score)
		}
		b.Scores = append(b.Scores, score)
	}
	return nil
}

// whole checks that the leaderboard has about as many teams as Kaggle counts.
// Kaggle also counts some teams that are on no leaderboard.
func (b *Leaderboard) whole(teams int) error {
	rows := len(b.Scores) + b.Unscored
	switch {
	case len(b.Scores) == 0:
		return errors.New("it has no scores")
	case rows < teams-teams/10:
		return fmt.Errorf("it has %d rows, but Kaggle counts %d teams: only its top is available", rows, teams)
	}
	return nil
}
