package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/footprint"
)

// split is a named set of competitions.
type split struct {
	name string
	of   []competition
}

// splits returns the three splits, and all of the 75.
func splits() ([]split, error) {
	all, err := competitions()
	if err != nil {
		return nil, err
	}
	out := []split{{name: "low"}, {name: "medium"}, {name: "high"}, {name: "all 75"}}
	for _, c := range all {
		if i := slices.IndexFunc(out, func(s split) bool { return s.name == c.Complexity }); i >= 0 {
			out[i].of = append(out[i].of, c)
			out[3].of = append(out[3].of, c)
		}
	}
	return out, nil
}

// Page returns docs/scale.md: what the sets take, by the same forecast that
// plan shows.
func Page(ctx context.Context) ([]byte, error) {
	list, err := splits()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(intro)
	if err := diskTable(ctx, &b, list); err != nil {
		return nil, err
	}
	b.WriteString(diskNotes)
	timeTable(&b, list[3].of)
	b.WriteString(timeNotes)
	filesTable(&b, list)
	b.WriteString(filesNotes)
	return []byte(b.String()), nil
}

const intro = `# What the full set takes

The disk, time and files of the competition sets. Ask for yours:

` + "```sh\nmleflow plan pipelines/lite.hcl\n```" + `

The forecast of ` + "`mleflow plan`" + ` from published sizes; nothing was measured on the full data.

## Disk

`

func diskTable(ctx context.Context, b *strings.Builder, list []split) error {
	b.WriteString("| set | competitions | raw | added by preparing | kept in the end | sufficient | peak, 8 at a time | peak, all at once |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, s := range list {
		var raw, prepared int64
		for _, c := range s.of {
			raw += c.Raw()
			prepared += c.prepared()
		}
		eight, err := run(ctx, newDisk(0, 0), s.of, 8)
		if err != nil {
			return err
		}
		free, err := run(ctx, newDisk(0, 0), s.of, len(s.of))
		if err != nil {
			return err
		}
		f := eight.Forecast
		fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", s.name, len(s.of), gb(raw), gb(prepared), gb(f.CacheBytes), gb(f.NeedBytes), gb(f.PeakBytes), gb(free.Forecast.PeakBytes))
	}
	return nil
}

func gb(n int64) string { return fmt.Sprintf("%.0f GB", float64(n)/1e9) }

var diskNotes = fmt.Sprintf(`
- **Raw**: the unpacked download. The download is at most as large, and deleted once unpacked; peaks come from that time.
- **Added by preparing**: copied files take none. Tables are assumed to take as much as raw data of only tables, and %g of others;
  unpacked archives to grow by %g with text, by %g if they may have some.
- **Sufficient**: always enough, as steps wait for space. With more, up to the peaks, more run at once.
- MLE-bench keeps archive, unpacked archive and prepared copy: %s for all 75.
- A quota (MLEFLOW_CACHE_QUOTA) may be smaller than a set whose competitions run one by one.

## Time

`, footprint.BesideFactor, footprint.TextFactor, footprint.MixedFactor, "about 9.9 TB")

// timeTable tells how long it takes to move or read all bytes.
func timeTable(b *strings.Builder, all []competition) {
	var raw int64
	for _, c := range all {
		raw += c.Raw()
	}
	b.WriteString("| rate | all 75 take |\n|---|--:|\n")
	for _, mbit := range []int64{50, 100, 500, 1000, 10000} {
		fmt.Fprintf(b, "| network, %d Mbit/s | %s |\n", mbit, span(raw, mbit*1e6/8))
	}
	for _, mb := range []int64{200, 500, 2000} {
		fmt.Fprintf(b, "| disk and processors, %d MB/s | %s |\n", mb, span(raw, mb*1e6))
	}
}

// span writes how long bytes take.
func span(bytes, perSecond int64) string {
	d := time.Duration(float64(bytes) / float64(perSecond) * float64(time.Second))
	if d >= 48*time.Hour {
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
	return fmt.Sprintf("%.1f hours", d.Hours())
}

const timeNotes = `
Network and hashing, unpacking and storing overlap, so the slower one decides. To measure your machine, run
` + "`make bench-report TABLES=\"unpack cache\"`" + ` and divide 3.28 TB by the rate. Interrupted downloads continue.

## Files

`

// filesTable tells the files that are known.
func filesTable(b *strings.Builder, list []split) {
	b.WriteString("| set | files known | of competitions | with |\n|---|--:|--:|--:|\n")
	for _, s := range list {
		var files, bytes int64
		known := 0
		for _, c := range s.of {
			if c.Files > 0 {
				known, files, bytes = known+1, files+c.Files, bytes+c.Raw()
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d of %d | %s |\n", s.name, files, known, len(s.of), gb(bytes))
	}
}

const filesNotes = `
These are rows of training tables that name a file each; with test files, the whole set has 10 to 20 million. Each takes an inode of the
cache: see ` + "`df -i`" + `; ` + "`plan`" + ` warns. By default, ext4 has 61 million inodes per TB.

## Attempts and memory

An attempt may store its disk limit in addition, 100 GiB by default, of which at most 12 GiB are kept. Only resources.disk reserves space. An
image takes its unpacked size once.

A download takes at most 8 MiB per connection. Preparation reads whole tables, the largest a few GB of text, and may take several times
their size.
`
