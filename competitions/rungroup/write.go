package rungroup

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
)

// Stamp writes a time as the reference does in names and metadata.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15-04-05") + "-GMT" }

// GroupName returns the name of an agent's run group.
func GroupName(started time.Time, agent string) string {
	return Stamp(started) + "_run-group_" + agent
}

// RunName returns the name of a run: its competition and what is unique to it,
// in the form of a UUID, the same for the same text.
func RunName(competition, unique string) string {
	id := digest.Of([]byte(unique)).String()
	return fmt.Sprintf("%s_%s-%s-%s-%s-%s", competition, id[:8], id[8:12], id[12:16], id[16:20], id[20:32])
}

// WriteMetadata writes the metadata of the group in dir.
func WriteMetadata(dir string, m Metadata) error {
	text, err := json.MarshalIndent(m, "", "    ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, metadataName), append(text, '\n'), 0o666)
	}
	if err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	return nil
}
