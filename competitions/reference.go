package competitions

import (
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// BlockDoc documents a block of a definition. Its attributes are those that the decoder
// accepts, and its example has each of them.
type BlockDoc struct {
	Name, Doc  string
	Attributes [][2]string // name and meaning
	Example    string
}

// BlockDocs returns the blocks whose attributes this package decodes.
func BlockDocs() []BlockDoc { return blockDocs }

// attributesOf returns the attributes of a block.
func attributesOf(block string) []string {
	at := slices.IndexFunc(blockDocs, func(b BlockDoc) bool { return b.Name == block })
	return lists.Of(blockDocs[at].Attributes, func(a [2]string) string { return a[0] })
}

var blockDocs = []BlockDoc{
	{Name: "competition", Doc: "The whole file; its label is the name of the folder.", Attributes: [][2]string{
		{"title", "The name for readers. Required."},
		{"description", "What to predict, from which data, and how it is scored. Required."},
		{"complexity", "low, medium, high, dev or demo. Required."},
		{"category", "What the data are, such as Image Classification."},
		{"answers", "The file that the grader compares with; private/test.csv by default."},
		{"gold", "The submission with the best score; the answers by default."},
		{"sample", "The sample submission; public/sample_submission.csv by default."},
		{"kind", "simple, the default, or code, for a code competition."},
		{"opened", "The first day, as 2019-03-25."},
		{"closed", "The last day."},
		{"size_gb", "The size of the download in 10⁹ bytes."},
		{"metric_name", "What the original calls the metric."},
		{"sample_score", "The sample's score on the full data, to five decimals, which is checked."},
		{"replaces_shipped", "true if the definition replaces the shipped one of its name."},
	}, Example: `title            = "Digits"
description      = "Read the digit in a picture."
complexity       = "low"
category         = "Image Classification"
answers          = "private/answers.csv"
gold             = "private/gold.csv"
sample           = "public/sample.csv"
kind             = "simple"
opened           = "2019-03-25"
closed           = "2019-06-25"
size_gb          = 0.2
metric_name      = "accuracy"
sample_score     = 0.1
replaces_shipped = false`},
	{Name: "source", Doc: "Where raw data come from; the label is kaggle (slug), file (path) or http (url). There may be several.", Attributes: [][2]string{
		{"slug", "The competition's name on Kaggle, if it is not the identifier."},
		{"path", "A file in the competition's folder."},
		{"url", "The address to fetch."},
		{"md5", "The MD5 of the download."},
		{"sha256", "Its SHA-256, not for Kaggle."},
		{"as", "Keeps the file under this name instead of unpacking it."},
	}, Example: `source "kaggle" {
  slug = "digit-recognizer"
  md5  = "0123456789abcdef0123456789abcdef"
}
source "file" {
  path = "labels.csv"
  as   = "labels.csv"
}
source "http" {
  url    = "https://example.org/more.zip"
  sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
}`},
	{Name: "param", Doc: "A number, string or boolean that is read as param.NAME and set by --param NAME=VALUE.", Attributes: [][2]string{
		{"default", "The value for the full data. Required."},
		{"rehearsal", "The value for a rehearsal."},
		{"description", "What it is."},
	}, Example: `param "test_size" {
  default     = 9914
  rehearsal   = 100
  description = "rows held out"
}`},
	{Name: "reference", Doc: "Original descriptions that are not in MLE-bench's repository.", Attributes: [][2]string{
		{"url", "The address of the description."}, {"sha256", "Its SHA-256."},
		{"obfuscated_url", "The address of one that does not name the competition."}, {"obfuscated_sha256", "Its SHA-256."},
	}, Example: `reference {
  url               = "https://example.org/description.md"
  sha256            = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  obfuscated_url    = "https://example.org/obfuscated.md"
  obfuscated_sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
}`},
	{Name: "medals", Doc: "The human leaderboard, if it is not the file leaderboard.txt: a file or scores.", Attributes: [][2]string{
		{"leaderboard", "A file with a score per line, in rank order."},
		{"scores", "The scores in rank order."},
		{"note", "A remark for readers."},
	}, Example: `medals {
  scores = [0.99, 0.98, 0.5] # or leaderboard = "board.txt"
  note   = "private leaderboard"
}`},
	{Name: "allow", Doc: "In a block lint: a finding that is as it should be; the label is its rule.", Attributes: [][2]string{
		{"reason", "Why. Required."}, {"file", "A pattern for the finding's file; any without it."}, {"column", "Its column; any without it."},
	}, Example: `lint {
  allow "duplicates" {
    file   = "public/*.csv"
    column = "text"
    reason = "The same question is asked twice."
  }
}`},
	{Name: "mask", Doc: "How masked versions replace ids.", Attributes: [][2]string{
		{"columns", "Columns with ids besides the grade block's; an expression that finds the id in a cell, or \"\" for the whole cell."},
		{"order", "The column whose ids order the rows."},
		{"names", "An expression that finds the id in a file's name."},
		{"tables", "Patterns of files that are CSV under another suffix."},
		{"opaque", "Patterns of files without ids, though their format could hold some."},
		{"refuse", "Why the competition cannot be masked; then without the others."},
	}, Example: `mask {
  columns = { patient = "", image = "^[^_]+" }
  order   = "patient"
  names   = "^([^_]+)_"
  tables  = ["test.txt"]
  opaque  = ["geometry.parquet"] # or only: refuse = "the ids are words"
}`},
	{Name: "validation", Doc: "How the public data are split once more where the prepare block cannot do it unchanged. Its blocks locals and prepare replace those of the definition.", Attributes: [][2]string{
		{"kind", "random, grouped, stratified, time or own."},
		{"share", "The held-out part, for readers."},
		{"note", "A remark for readers."},
		{"training", "Patterns of public files with training data, where names do not tell."},
		{"test", "Patterns of those without."},
		{"extract", "In place of the prepare block's."},
	}, Example: `validation {
  kind     = "time"
  share    = "the last week"
  note     = "as the test part follows the training part"
  training = ["depths.csv"]
  test     = ["stations.csv"]
  extract  = { "train.zip" = "train" }
}`},
	{Name: "public_labels", Doc: "A collection with labels of hidden rows; the label is its name.", Attributes: [][2]string{
		{"url", "Its page. Required."}, {"covers", "The hidden rows whose labels it has: all, part or unknown. Required."},
		{"note", "What is the same. Required."}, {"reference", "The evidence: a URL, or a file in the reference's folder. Required."},
		{"loaders", "Names with which programs fetch it."},
	}, Example: `public_labels "MNIST" {
  url       = "https://example.org/mnist"
  covers    = "part"
  note      = "The pictures are MNIST's."
  reference = "https://example.org/evidence"
  loaders   = ["mnist"]
}`},
	{Name: "python", Doc: "Python code next to the definition that prepares and grades as MLE-bench's does, where the definition has no block prepare or grade. mleflow competition import writes it.", Attributes: [][2]string{
		{"package", "The name by which the code is imported. Required."},
		{"folder", "The folder of the code; python by default."},
		{"prepare", "The function of raw, public and private, as module:function."},
		{"grade", "The function of submission and answers, which returns a number."},
		{"better", "higher or lower, if no leaderboard says which scores are better."},
		{"requirements", "The file of the packages that the code needs, with exact versions. Required."},
		{"version", "A version of Python such as 3.11; that of the machine by default."},
		{"prepare_timeout", "The longest time of a preparation; 24h by default."},
		{"grade_timeout", "The longest time of a grading; 1h by default."},
		{"memory_mib", "The most memory of either, 16384 by default."},
	}, Example: `python {
  package         = "mlebench.competitions.digits"
  folder          = "python"
  prepare         = "prepare:prepare"
  grade           = "grade:grade"
  better          = "higher"
  requirements    = "requirements.txt"
  version         = "3.11"
  prepare_timeout = "2h"
  grade_timeout   = "10m"
  memory_mib      = 4096
}`},
	{Name: "errata", Doc: "A later version, named by the label. Its blocks locals, prepare and grade replace those of v1.", Attributes: [][2]string{
		{"reason", "What is wrong in v1, and what this version does. Required."},
		{"reference", "Where it is described: a URL, or a file in the reference's folder. Required."},
		{"fixes", "The lint rules that find the defect in earlier versions."},
		{"flags", "What reports say about this version: crowded."},
	}, Example: `errata "v2" {
  reason    = "The ids sort the answers; v2 shuffles them."
  reference = "https://example.org/issues/7"
  fixes     = ["ordered-answers"]
  flags     = ["crowded"]
}`},
}
