package rungroup

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
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
