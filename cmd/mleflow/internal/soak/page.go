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

This page tells how much disk, time and files the competition sets take. Ask for yours:

` + "```sh\nmleflow plan pipelines/lite.hcl\n```" + `

` + "`make docs`" + ` computes the page from published sizes by the forecast of ` + "`mleflow plan`" + `; nothing was measured on the full data.

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
- **Raw**: the unpacked download. The download is at most as large, and deleted once it is unpacked; the peaks come from that time.
- **Added by preparing**: copied files take no space. Tables are assumed to take as much as raw data of only tables, and %g of others.
  Archives that are unpacked as well are assumed to grow by a factor of %g if they contain text, and %g if they may.
- **Sufficient**: steps wait for each other's space, so this much is always enough. With more, up to the peaks, more of them run at once.
- MLE-bench's layout keeps the archive, the unpacked archive and the prepared copy: %s for all 75.
- A quota (MLEFLOW_CACHE_QUOTA) may be smaller than a set if its competitions run one after the other.

## Time

`, footprint.BesideFactor, footprint.TextFactor, footprint.MixedFactor, "about 9.9 TB")

// timeTable tells how long it takes to move or read all bytes.
func timeTable(b *strings.Builder, all []competition) {
	var raw int64
	for _, c := range all {
		raw += c.Raw()
	}
	b.WriteString("| bytes go through | at | all 75 take |\n|---|--:|--:|\n")
	for _, mbit := range []int64{50, 100, 500, 1000, 10000} {
		fmt.Fprintf(b, "| the network | %d Mbit/s | %s |\n", mbit, span(raw, mbit*1e6/8))
	}
	for _, mb := range []int64{200, 500, 2000} {
		fmt.Fprintf(b, "| hashing, unpacking and storing | %d MB/s | %s |\n", mb, span(raw, mb*1e6))
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
Both happen at once, so the slower one decides. To measure your disk and processors, run
` + "`make bench-report TABLES=\"unpack cache\"`" + ` and divide 3.28 TB by the rate. An interrupted download continues where it stopped.

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
These are the rows of training tables that name one file each; with test files, the whole set has 10 to 20 million. Each is one file
in the cache and takes an inode: see ` + "`df -i`" + `; ` + "`plan`" + ` warns. By default, ext4 has 61 million inodes per TB.

## Attempts

An attempt may store as much as its disk limit in addition, 100 GiB by default. At most 12 GiB of it are kept. Space is reserved only
by resources.disk. An image takes its unpacked size once for all attempts.

## Memory

A download takes at most 8 MiB per connection, whatever the size and number of files. Preparation reads whole tables and may take
several times their size: the largest text tables are a few GB.
`
