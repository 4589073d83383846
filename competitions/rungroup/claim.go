package rungroup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// Claim is what a trajectory that was made elsewhere says of an attempt. Nothing of it was
// measured here.
type Claim struct {
	Agent string `json:"agent"`
	// Format is that of Data, which File names in the run's folder.
	Format string `json:"format"`
	File   string `json:"-"`
	Data   []byte `json:"-"`
	// Outcome is "" if it does not say.
	Outcome     outcome.End   `json:"outcome"`
	WallSeconds *float64      `json:"wall_seconds"`
	Usage       grading.Usage `json:"usage"`
}

// check refuses amounts that no attempt can have used.
func (c *Claim) check() error {
	if err := c.Usage.Check(); err != nil {
		return fmt.Errorf("it claims what cannot be: %w", err)
	}
	return checkSeconds(c.WallSeconds)
}

// mostSeconds is the longest time that an attempt may be said to have taken, ten years.
const mostSeconds = 10 * 366 * 24 * 3600

func checkSeconds(s *float64) error {
	if s != nil && !(*s >= 0 && *s <= mostSeconds) {
		return fmt.Errorf("it claims what cannot be: %v seconds", *s)
	}
	return nil
}

// ReadClaim reads what the Python package says of a trajectory or a sample of a log: a line with
// the claim, then the evidence for it, which becomes a file of the run.
func ReadClaim(data []byte, file string) (*Claim, error) {
	line, evidence, _ := bytes.Cut(data, []byte("\n"))
	c := &Claim{File: file, Data: evidence}
	if err := json.Unmarshal(line, c); err != nil {
		return nil, fmt.Errorf("read claim: %w", err)
	}
	if c.Outcome != "" && !c.Outcome.Known() {
		return nil, fmt.Errorf("read claim: no end of an attempt is %q", c.Outcome)
	}
	return c, c.check()
}

// Import adds an attempt with a claim to the run group in dir, which it creates if it is
// missing, and returns the run. Without a submission there is none. The same claim and
// submission are not imported twice.
func Import(dir, competition, seed, submission string, c *Claim) (Record, error) {
	meta, err := readMetadata(filepath.Join(dir, metadataName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			return Record{}, fmt.Errorf("%s is no run group: it has no %s", dir, metadataName)
		}
		meta = &Metadata{RunGroup: filepath.Base(dir), CreatedAt: Stamp(time.Now())}
	case err != nil:
		return Record{}, fmt.Errorf("read run group %s: %w", dir, err)
	}
	var work string
	if err = os.MkdirAll(filepath.Dir(dir), 0o777); err == nil {
		work, err = os.MkdirTemp(filepath.Dir(dir), ".import-*")
	}
	if err != nil {
		return Record{}, fmt.Errorf("import: %w", err)
	}
	defer os.RemoveAll(work)
	sum := digest.Of(c.Data).String()
	made := filepath.Join(work, "run")
	unique := sum
	if submission != "" {
		id, err := copyFile(submission, filepath.Join(made, "submission", "submission.csv"))
		if err != nil {
			return Record{}, fmt.Errorf("import submission: %w", err)
		}
		unique += id
	}
	success := true
	run := Record{
		ID: RunName(competition, unique+" "+seed), Success: &success, Agent: c.Agent, Seed: seed, Outcome: c.Outcome, WallSeconds: c.WallSeconds, Usage: &c.Usage,
		Evidence: fmt.Sprintf("claimed by %s, %s, SHA-256 %s", c.File, c.Format, sum),
	}
	if slices.ContainsFunc(meta.Runs, func(r Record) bool { return r.ID == run.ID }) {
		return run, fmt.Errorf("%s has this attempt as %s", dir, run.ID)
	}
	meta.Runs = append(meta.Runs, run)
	path := filepath.Join(made, filepath.FromSlash(c.File))
	if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
		err = wholefile.Replace(path, wholefile.Bytes(c.Data))
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		err = os.Rename(made, filepath.Join(dir, run.ID))
	}
	if err != nil {
		return run, fmt.Errorf("import: %w", err)
	}
	return run, WriteMetadata(dir, *meta)
}

// copyFile copies a file and returns its SHA-256.
func copyFile(from, to string) (string, error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return "", err
	}
	var sum string
	err = wholefile.Create(to, 0o666, func(w io.Writer) error {
		id, _, err := digest.Copy(w, in)
		sum = id.String()
		return err
	})
	return sum, err
}
