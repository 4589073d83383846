package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
)

// tries is the number of networks among which a baseline with a validation score chooses.
const tries = 4

// validation is the held-out data of an attempt that can ask for scores.
type validation struct {
	*baselineData
	x   *matrix
	url string
}

// loadValidation reads the held-out inputs; nil without a validation score.
func (b *baselineData) loadValidation(t Task, use []encoder, rng *rand.Rand) (*validation, error) {
	if t.ValidationDir == "" || t.Gateway == "" {
		return nil, nil
	}
	held, err := loadHeldOut(t, rng)
	if err != nil {
		return nil, fmt.Errorf("read the held-out data: %w", err)
	}
	held.train, held.problem = b.train, b.problem
	x, err := encodeAll(held.test, use)
	return &validation{held, x, t.Gateway + "/score"}, err
}

func loadHeldOut(t Task, rng *rand.Rand) (held *baselineData, err error) {
	held = &baselineData{}
	if held.test, err = readFrame(t.ValidationDir, "test.csv", 0, rng); err != nil {
		return nil, err
	}
	name := t.Sample
	if name == "" {
		if name, err = sampleFile(t.ValidationDir); err != nil {
			return nil, err
		}
	}
	held.sample, err = readFrame(t.ValidationDir, name, 0, rng)
	return held, err
}

// best asks for the score of predictions, and reports whether none so far is better, whatever
// the reply reports.
func (v *validation) best(t Task, filled map[string][]string) (bool, error) {
	dir, err := os.MkdirTemp("", "validation-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	if err := v.submit(Task{SubmissionDir: dir, Log: io.Discard}, filled); err != nil {
		return false, err
	}
	text, err := os.ReadFile(filepath.Join(dir, SubmissionFile))
	if err != nil {
		return false, err
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", SubmissionFile)
	if err == nil {
		_, _ = part.Write(text) // into memory
		err = w.Close()
	}
	if err != nil {
		return false, err
	}
	direct := &http.Client{Transport: &http.Transport{}}
	resp, err := direct.Post(v.url, w.FormDataContentType(), &body)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil || resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("status %d: %s", resp.StatusCode, reply)
	}
	var is struct {
		Score, Best *float64
		Rank        int
		Better      bool
	}
	if err := json.Unmarshal(reply, &is); err != nil {
		return false, err
	}
	fmt.Fprintf(t.Log, "validation: %s", reply)
	return is.Better || is.Rank == 1 || is.Score != nil && is.Best != nil && *is.Score == *is.Best, nil
}
