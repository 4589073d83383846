package competitions

import (
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/bounded"
)

// FileName is the name of a definition in its competition's folder.
const FileName = "competition.hcl"

// Definition is one competition as its competition.hcl declares it, in one
// version. It is read-only after loading.
type Definition struct {
	ID          string
	Title       string     `attr:"title,required"`
	Category    string     `attr:"category"`
	Complexity  Complexity `attr:"complexity,required"`
	Version     string
	Description string `attr:"description,required"`
	Facts       Facts  `attr:""`
	Layout      Layout `attr:""`
	Sources     []Source
	Params      []Param
	Checksums   Checksums
	Medals      Medals
	Errata      []Erratum
	// PublicLabels are the collections that have labels of hidden rows.
	PublicLabels []PublicLabels
	// Allowed are the findings of the lint that are as they should be.
	Allowed []Allowance
	// Mask says how ids are replaced in the masked versions.
	Mask Mask
	// Validation says how the public data are split once more.
	Validation Validation
	// Flags are the version's flags in the order of the file.
	Flags []Flag
	// Prepare and Grade are the undecoded bodies of the blocks of that name.
	Prepare Block
	Grade   Block
	// Python is the code that stands for a block that is not there.
	Python Python
	// ReplacesShipped reports whether the definition may replace the shipped one with its
	// identifier.
	ReplacesShipped bool `attr:"replaces_shipped"`
	// Rehearsal reports whether the definition is for the data of a rehearsal; see Rehearsed.
	Rehearsal bool

	locals      locals
	budget      *bounded.Budget // of the locals
	folder      fs.FS
	path, dir   string
	label       hcl.Range
	file        *hcl.File
	changes     []change
	pinsVersion string
	lock        *Lock
	lockFile    *hcl.File
	// graded has digests by gradeVariant. All versions of a definition share it.
	graded *sync.Map
}

// Complexity is the reference's rating of a competition by the work of an experienced
// engineer.
type Complexity string

// The complexities. Dev marks the development set, Demo our own examples;
// neither is part of the 75.
const (
	Low    Complexity = "low"
	Medium Complexity = "medium"
	High   Complexity = "high"
	Dev    Complexity = "dev"
	Demo   Complexity = "demo"
)

// modalities are the kinds of data of categories whose first word does not say it.
var modalities = map[string]string{
	"forecasting": "tabular", "object-detection": "image", "sequence-to-sequence": "text", "signal-processing": "signal", "training-llms": "text",
}

// Modality returns the kind of data that the category means: audio, image, signal,
// tabular, text or video, and "other" for any other category.
func (d *Definition) Modality() string {
	if m, ok := modalities[d.Category]; ok {
		return m
	}
	if first, _, _ := strings.Cut(d.Category, "-"); slices.Contains([]string{"audio", "image", "signal", "tabular", "text", "video"}, first) {
		return first
	}
	return "other"
}

// Facts are figures about the competition that change no output.
type Facts struct {
	// Kind is "simple" or "code" (a code competition on Kaggle).
	Kind string `attr:"kind"`
	// Opened and Closed are dates as YYYY-MM-DD, or empty.
	Opened string `attr:"opened"`
	Closed string `attr:"closed"`
	// SizeGB is the size of the download in units of 10⁹ bytes, or 0.
	SizeGB float64 `attr:"size_gb"`
	// MetricName is the reference's name of the metric.
	MetricName string `attr:"metric_name"`
	// SampleScore is the score of the sample submission on the full data, as
	// the reference rounds it; nil when it has none or it is not known.
	SampleScore *float64 `attr:"sample_score"`
	// Description pins the reference's description, Obfuscated the one that
	// does not name the competition. They are fetched when they are needed.
	Description, Obfuscated Pin
}

// What a definition need not say.
const (
	defaultAnswers     = "private/test.csv"
	defaultSample      = "public/sample_submission.csv"
	defaultLeaderboard = "leaderboard.txt"
)

// Layout has the paths of the files that grading needs, relative to the
// prepared folder.
type Layout struct {
	// Answers is the file the grader compares with.
	Answers string `attr:"answers"`
	// Gold is the submission that gets the best score.
	Gold string `attr:"gold"`
	// Sample is the sample submission.
	Sample string `attr:"sample"`
}

// Block is an undecoded block of a definition.
type Block struct {
	Body  hcl.Body
	Range hcl.Range
}

// IsZero reports whether the definition has no such block.
func (b Block) IsZero() bool { return b.Body == nil }

// Source is one place the raw data comes from. Which arguments a source takes
// is decided by its kind (see sourceKinds).
type Source struct {
	// Kind is "kaggle", "file" or "http".
	Kind string
	// Slug is the competition's name on Kaggle (kaggle).
	Slug string `attr:"slug"`
	// Path is a file of the competition's own folder (file).
	Path string `attr:"path"`
	// URL is the address to fetch (http).
	URL string `attr:"url"`
	// MD5 and SHA256 pin the archive's bytes, in hexadecimal; either may be
	// empty.
	MD5    string `attr:"md5,md5"`
	SHA256 string `attr:"sha256,sha256"`
	// As names the file in the raw folder; empty means that the source is an
	// archive that is unpacked into it.
	As    string `attr:"as"`
	Range hcl.Range
}

// Download returns the source whose content the raw folder is, if there is just
// one: the others are files next to it.
func (d *Definition) Download() (Source, bool) {
	main := lists.Where(d.Sources, func(s Source) bool { return s.As == "" })
	if len(main) != 1 {
		return Source{}, false
	}
	return main[0], true
}

// Beside returns the sources that are a file of their own next to the download.
func (d *Definition) Beside() []Source {
	if _, ok := d.Download(); !ok {
		return nil
	}
	return lists.Where(d.Sources, func(s Source) bool { return s.As != "" })
}

// Param is a value that --param may override.
type Param struct {
	Name    string
	Default cty.Value
	// Rehearsal is the value for the data of a rehearsal; cty.NilVal is Default.
	Rehearsal   cty.Value
	Description string `attr:"description"`
	Range       hcl.Range
}

// Checksums are the pins of a competition's prepared files.
type Checksums struct {
	// Public and Private map a file's path below that folder to the MD5 of
	// the reference's file, or to ContentPin and a digest of its content.
	Public  map[string]string `attr:"public"`
	Private map[string]string `attr:"private"`
	// Manifest is the SHA-256 of the manifest of every prepared file on the
	// full data, or empty when not known.
	Manifest string `attr:"manifest,sha256"`
}

// ContentPin begins a pin of a Parquet file's content (table.ParquetContent). The
// file's bytes depend on the library that writes it and on its version. With
// nothing after it, the expected content is not known yet.
const ContentPin = "content:"

// Erratum is a known defect of v1 and how v2 fixes it.
type Erratum struct {
	Version string
	// Reason describes the defect of v1 and its treatment in the version.
	Reason string `attr:"reason,required"`
	// Reference is the address of a description of the defect.
	Reference string `attr:"reference,required"`
	Flags     []Flag `attr:"flags"`
	// Fixes names the lint rules that find the defect in earlier versions.
	Fixes []string `attr:"fixes"`
}

// Flag is a property of a competition that no other preparation can fix. The
// reports of a version that has it say so.
type Flag string

// Crowded reports whether many teams share the scores around the medals, so that a place
// and a medal depend on the last digits; see Medals.Crowd.
const Crowded Flag = "crowded"

// flags returns the flags that there are, sorted.
func flags() []Flag { return []Flag{Crowded} }

// ParamNames returns the names of the parameters in order of declaration.
func (d *Definition) ParamNames() []string {
	return lists.Of(d.Params, func(p Param) string { return p.Name })
}

// Versions returns the versions of the competition, v1 first.
func (d *Definition) Versions() []string {
	out := []string{"v1"}
	for _, e := range d.Errata {
		if !slices.Contains(out, e.Version) {
			out = append(out, e.Version)
		}
	}
	return out
}

// PinsVersion returns the version whose prepared files the checksums are of: an
// earlier one than the definition's if nothing since then prepares in another
// way.
func (d *Definition) PinsVersion() string { return d.pinsVersion }

// ManifestName returns the name of the file next to the definition that records
// the prepared files of PinsVersion when they were pinned: manifest.json, of later
// versions such as manifest.v2.json. See package competitions/pins. No output depends on it.
func (d *Definition) ManifestName() string { return manifestName(d.pinsVersion) }

func manifestName(version string) string {
	if version == "v1" {
		return "manifest.json"
	}
	return "manifest." + version + ".json"
}

// Folder returns the competition's own folder, for the data files that the
// definition names.
func (d *Definition) Folder() fs.FS { return d.folder }

// Files returns the parsed sources by file name, for diagnostics writers.
func (d *Definition) Files() map[string]*hcl.File {
	files := map[string]*hcl.File{d.FilePath(): d.file}
	if d.lockFile != nil {
		files[lockPath(d.path)] = d.lockFile
	}
	return files
}

// Source returns the text of the definition's file.
func (d *Definition) Source() []byte { return d.file.Bytes }

// FilePath returns the path of the definition's file as diagnostics show it.
func (d *Definition) FilePath() string { return d.path }

// Pinned returns the pins by path below the prepared folder.
func (c Checksums) Pinned() map[string]string {
	out := make(map[string]string, len(c.Public)+len(c.Private))
	for name, sum := range c.Public {
		out["public/"+name] = sum
	}
	for name, sum := range c.Private {
		out["private/"+name] = sum
	}
	return out
}

// IsPublic reports whether a prepared path is seen by agents.
func IsPublic(path string) bool { return strings.HasPrefix(path, "public/") }
