package source

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"
)

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
	Submissions []struct {
		Score *string `json:"score"`
	} `json:"submissions"`
	NextPageToken string `json:"nextPageToken"`
}

// Leaderboard fetches the leaderboard of a competition. An incomplete one, as
// servers without pages return, is an error: medals would be wrong.
func (k *Kaggle) Leaderboard(ctx context.Context, slug string) (Leaderboard, error) {
	s, err := k.session()
	if err != nil {
		return Leaderboard{}, fmt.Errorf("fetch the leaderboard of %s from Kaggle: %w", slug, err)
	}
	board, err := s.leaderboard(ctx, slug)
	if err != nil {
		return Leaderboard{}, fmt.Errorf("fetch the leaderboard of %s from Kaggle: %w", slug, s.explain(err, slug))
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
