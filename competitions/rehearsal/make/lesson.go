package main

import (
	"bytes"
	"fmt"
	"image"
	"io"
	"io/fs"
	"strconv"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// lesson gives a model the prepared public data, and takes its submission. Its methods
// panic on a mistake of the exercise.
type lesson struct {
	public     fs.FS
	archives   map[string]map[string][]byte
	submission []byte
}

// file returns the content of a public file.
func (l *lesson) file(name string) []byte {
	data, err := fs.ReadFile(l.public, name)
	must(err)
	return data
}

// member returns the content of a file of a public archive (zip, 7z, tar.gz).
func (l *lesson) member(archiveName, name string) []byte {
	if l.archives == nil {
		l.archives = map[string]map[string][]byte{}
	}
	files, ok := l.archives[archiveName]
	if !ok {
		files = unpacked(archiveName, l.file(archiveName))
		l.archives[archiveName] = files
	}
	data, ok := files[name]
	if !ok {
		panic(fmt.Sprintf("%s has no %s", archiveName, name))
	}
	return data
}

// unpacked returns the files of an archive.
func unpacked(name string, data []byte) map[string][]byte {
	files := map[string][]byte{}
	src := archive.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	must(archive.Walk(ctx, src, archive.FormatOf(name), archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		if r == nil { // a folder
			return nil
		}
		content, err := io.ReadAll(r)
		files[e.Name] = content
		return err
	}))
	return files
}

// rows reads a public table. All cells are strings; a missing one is empty.
func (l *lesson) rows(name string) *rows { return readRows(l.file(name)) }

// submit submits a table.
func (l *lesson) submit(header []string, cells [][]string) { l.submission = csvOf(header, cells) }

// submitLike submits the sample submission with some columns replaced: predict returns
// the values of the named columns for a row of the sample.
func (l *lesson) submitLike(sample string, columns []string, predict func(r *rows, i int) []string) {
	r := l.rows(sample)
	out := make([][]string, r.len())
	for i := range out {
		out[i] = append([]string(nil), r.cells[i]...)
		for j, v := range predict(r, i) {
			out[i][r.at(columns[j])] = v
		}
	}
	l.submit(r.header, out)
}

// rows is a table of strings.
type rows struct {
	header []string
	cells  [][]string
}

func readRows(data []byte) *rows {
	t, err := table.ReadCSV(bytes.NewReader(data), table.ReadOptions{})
	must(err)
	r := &rows{header: t.Names(), cells: make([][]string, t.Len())}
	for i := range r.cells {
		r.cells[i] = make([]string, len(r.header))
	}
	for j, c := range t.Columns() {
		for i := range r.cells {
			if !c.IsMissing(i) {
				r.cells[i][j] = c.Text(i)
			}
		}
	}
	return r
}

func (r *rows) len() int { return len(r.cells) }

// at returns the position of a column.
func (r *rows) at(column string) int {
	for j, name := range r.header {
		if name == column {
			return j
		}
	}
	panic(fmt.Sprintf("there is no column %q among %q", column, r.header))
}

// get returns a cell.
func (r *rows) get(i int, column string) string { return r.cells[i][r.at(column)] }

// number returns a cell as a number; what is none is 0.
func (r *rows) number(i int, column string) float64 {
	v, err := strconv.ParseFloat(r.get(i, column), 64)
	if err != nil {
		return 0
	}
	return v
}

// classifier learns the class in a column from the features of each row.
func (r *rows) classifier(class string, features func(r *rows, i int) []float64) *centroids {
	var x [][]float64
	var y []string
	for i := range r.len() {
		x, y = append(x, features(r, i)), append(y, r.get(i, class))
	}
	return fitCentroids(x, y)
}

// regression learns the number in a column from the features of each row.
func (r *rows) regression(target string, features func(r *rows, i int) []float64) linear {
	var x [][]float64
	var y []float64
	for i := range r.len() {
		x, y = append(x, features(r, i)), append(y, r.number(i, target))
	}
	return fitLinear(x, y)
}

// coco is the part of a COCO file that a model needs.
type coco struct {
	Annotations []struct {
		CategoryID int `json:"category_id"`
	}
	Images []imageCOCO
}

// imageCOCO is a picture of a COCO file, whose id has one of two names.
type imageCOCO struct {
	ID       any    `json:"id"`
	ImageID  string `json:"image_id"`
	FileName string `json:"file_name"`
}

func (i imageCOCO) id() string {
	if i.ImageID != "" {
		return i.ImageID
	}
	return fmt.Sprint(i.ID)
}

// colors returns the mean red, green and blue of an encoded JPEG or PNG, from 0 to 255.
func colors(data []byte) []float64 {
	img, _, err := image.Decode(bytes.NewReader(data))
	must(err)
	sum, n := make([]float64, 3), 0.0
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			sum[0] += float64(r >> 8)
			sum[1] += float64(g >> 8)
			sum[2] += float64(bl >> 8)
			n++
		}
	}
	for i := range sum {
		sum[i] /= n
	}
	return sum
}

// classifyPictures classifies by mean color. train returns the picture of a row of
// train.csv, which has the class; test that of a row of the sample submission.
func (l *lesson) classifyPictures(class, column string, train, test func(r *rows, i int) []byte) {
	model := l.rows("train.csv").classifier(class, func(r *rows, i int) []float64 { return colors(train(r, i)) })
	l.submitLike("sample_submission.csv", []string{column}, func(r *rows, i int) []string {
		return []string{model.class(colors(test(r, i)))}
	})
}

// classifyCOCO classifies by mean color the pictures of a COCO file, whose contents train
// and test return by name. The sample submission has their ids and classes in two columns.
func (l *lesson) classifyCOCO(known, asked coco, train, test func(name string) []byte, sample, id, column string) {
	var x [][]float64
	var y []string
	for i, image := range known.Images {
		x = append(x, colors(train(image.FileName)))
		y = append(y, itoa(known.Annotations[i].CategoryID))
	}
	model, found := fitCentroids(x, y), map[string]string{}
	for _, image := range asked.Images {
		found[image.id()] = model.class(colors(test(image.FileName)))
	}
	l.submitLike(sample, []string{column}, func(r *rows, i int) []string { return []string{found[r.get(i, id)]} })
}
