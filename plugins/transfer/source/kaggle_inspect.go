package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Inspect implements Inspector. It requests the competition, the first byte of
// its archive, which requires accepted rules, and a summary of its files.
func (k *Kaggle) Inspect(ctx context.Context, spec Spec) (Availability, error) {
	a, err := k.inspect(ctx, spec)
	if err != nil {
		return Availability{}, fmt.Errorf("ask Kaggle about %s: %w", spec.Slug, err)
	}
	return a, nil
}

func (k *Kaggle) inspect(ctx context.Context, spec Spec) (Availability, error) {
	s, err := k.session()
	if err != nil {
		return Availability{}, err
	}
	about, err := s.competition(ctx, spec.Slug)
	if err != nil {
		return Availability{}, s.explain(err, spec.Slug)
	}
	a, err := k.http.inspect(ctx, spec, s.archive(spec.Slug))
	if err != nil {
		return Availability{}, s.explain(err, spec.Slug)
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
	Title          string `json:"title"`
	UserHasEntered bool   `json:"userHasEntered"`
	Deadline       string `json:"deadline"`
	TeamCount      int    `json:"teamCount"`
}

// competition asks GET /competitions/get/{name}.
func (s *kaggleSession) competition(ctx context.Context, slug string) (c kaggleCompetition, err error) {
	return c, s.ask(ctx, s.at("/competitions/get/", slug), &c)
}

// kaggleSummary is the answer of GET /competitions/data/summary/{name}.
type kaggleSummary struct {
	FileSummaryInfo struct {
		TotalFileCount int `json:"totalFileCount"`
		FileTypes      []struct {
			TotalSize int64 `json:"totalSize"`
		} `json:"fileTypes"`
	} `json:"fileSummaryInfo"`
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
	Files []struct {
		TotalBytes int64 `json:"totalBytes"`
	} `json:"files"`
	NextPageToken string `json:"nextPageToken"`
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
