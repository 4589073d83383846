package rungroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/cache/tree"
)

// Stamp writes a time as the reference does in names and metadata.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15-04-05") + "-GMT" }

// GroupName returns a name for an agent's run group of a run of ours below dir. The
// reference's has a resolution of one second: if the group of another run took it,
// the time gets a number, from _0002.
func GroupName(dir string, started time.Time, agent, run string) string {
	stamp := Stamp(started)
	for n := 2; ; n++ {
		name := stamp + "_run-group_" + agent
		meta, err := readMetadata(filepath.Join(dir, name, metadataName))
		if err != nil || meta.Mleflow == nil || meta.Mleflow.Run == run {
			return name
		}
		stamp = fmt.Sprintf("%s_%04d", Stamp(started), n)
	}
}

// RunName returns the name of a run: its competition and a part unique to it,
// in the form of a UUID, the same for the same text.
func RunName(competition, unique string) string {
	id := digest.Of([]byte(unique)).String()
	return fmt.Sprintf("%s_%s-%s-%s-%s-%s", competition, id[:8], id[8:12], id[12:16], id[16:20], id[20:32])
}

// WriteMetadata writes the metadata of the group in dir.
func WriteMetadata(dir string, m Metadata) error {
	text, err := json.MarshalIndent(m, "", "    ")
	if err == nil {
		err = wholefile.Replace(filepath.Join(dir, metadataName), wholefile.Bytes(append(text, '\n')))
	}
	if err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	return nil
}

// Export is a run group to write.
type Export struct {
	Dir      string
	Metadata Metadata
	// Outputs are the outputs of the attempts, in the order of the metadata's runs.
	Outputs []cache.Outputs
}

// leftByAgent are the outputs with what an agent left.
var leftByAgent = []string{"submission", "logs", "code"}

// Content returns how many files and bytes a run will have.
func Content(outputs cache.Outputs) (files, bytes int64) { return outputs.Content(leftByAgent...) }

// Write writes the group, all of it or nothing.
func (g Export) Write(ctx context.Context, c cache.Files, work *progress.Work) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(g.Dir), ".run-group-*")
	if err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	group := filepath.Join(tmp, "group")
	for i, run := range g.Metadata.Runs {
		if err := writeRun(ctx, c, g.Outputs[i], filepath.Join(group, run.ID), work); err != nil {
			return fmt.Errorf("write run group: %s: %w", run.Address, err)
		}
	}
	if err := WriteMetadata(group, g.Metadata); err != nil {
		return err
	}
	if err := os.Rename(group, g.Dir); err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	return nil
}

// writeRun lays out what an agent left, as the reference takes it out of a
// container, and what it printed.
func writeRun(ctx context.Context, c cache.Files, outputs cache.Outputs, dir string, work *progress.Work) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, name := range leftByAgent {
		ref := outputs[name].Ref
		if ref.IsZero() {
			continue
		}
		if _, err := tree.Materialise(ctx, c, ref, filepath.Join(dir, name), tree.Options{Mode: tree.Copy, Writable: true, Progress: tree.Count(work)}); err != nil {
			return err
		}
	}
	printed, err := os.Open(filepath.Join(dir, "logs", "output.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer printed.Close()
	log, err := os.Create(filepath.Join(dir, "run.log"))
	if err != nil {
		return err
	}
	_, err = io.Copy(log, printed)
	return errors.Join(err, log.Close())
}
