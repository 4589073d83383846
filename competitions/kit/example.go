package kit

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// example is one of the 60 rows of made-up data: a box, and whether it is wider
// than high.
type example struct{ id, width, height, label int }

func examples() []example {
	var rows []example
	for i := range 60 {
		e := example{id: i + 1, width: i*7%11 + 1, height: i*5%13 + 1}
		if e.width > e.height {
			e.label = 1
		}
		rows = append(rows, e)
	}
	return rows
}

// exampleData packs made-up data whose label follows from the rest: a table of
// numbers, one of texts, or pictures with a table of labels.
func exampleData(from string) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	add := func(name string, data []byte) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	var err error
	switch from {
	case "text":
		err = add("data.csv", exampleTable("id,text,label", func(e example) string {
			size := "narrow"
			if e.width > 6 {
				size = "broad"
			}
			return fmt.Sprintf("%d,The %s box is %d wide and %d high.,%d", e.id, size, e.width, e.height, e.label)
		}))
	case "image":
		err = add("labels.csv", exampleTable("id,label", func(e example) string { return fmt.Sprintf("%d,%d", e.id, e.label) }))
		for _, e := range examples() {
			err = errors.Join(err, add(fmt.Sprintf("images/%d.png", e.id), e.picture()))
		}
	default:
		err = add("data.csv", exampleTable("id,width,height,label", func(e example) string {
			return fmt.Sprintf("%d,%d,%d,%d", e.id, e.width, e.height, e.label)
		}))
	}
	err = errors.Join(err, z.Close())
	return buf.Bytes(), err
}

func exampleTable(header string, row func(example) string) []byte {
	lines := []string{header}
	for _, e := range examples() {
		lines = append(lines, row(e))
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// picture is a white box on black, as PNG.
func (e example) picture() []byte {
	img := image.NewGray(image.Rect(0, 0, 16, 16))
	for x := range e.width {
		for y := range e.height {
			img.SetGray(x, y, color.Gray{Y: 255})
		}
	}
	var buf bytes.Buffer
	_ = png.Encode(&buf, img) // a buffer takes everything
	return buf.Bytes()
}
