package xlsx

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

// The bounds of a workbook, which others write: a few bytes can stand for gigabytes.
const (
	mostCells   = 10_000_000
	mostIndex   = 16 << 20 // bytes of a part that is held as a whole
	mostRows    = 1 << 20
	mostColumns = 1 << 14
)

// mostUnpacked is how many bytes the parts may have in all.
var mostUnpacked int64 = 512 << 20

// workbook is an .xlsx file: a zip file of XML parts. Only the standard library reads them,
// which knows no entities but XML's own.
type workbook struct {
	parts   map[string]*zip.File
	left    int64 // bytes that may still be unpacked
	strings []string
	dates   []bool // by style
	since   time.Time
}

// CSV returns a sheet as the text of a CSV file: that of the name, or the first.
func CSV(at io.ReaderAt, size int64, name string) ([]byte, error) {
	archive, err := zip.NewReader(at, size)
	if err != nil {
		return nil, err
	}
	w := &workbook{parts: map[string]*zip.File{}, left: mostUnpacked}
	for _, f := range archive.File {
		w.parts[f.Name] = f
	}
	sheet, err := w.open(name)
	if err != nil {
		return nil, err
	}
	s := sheetReader{workbook: w}
	if err := w.read(sheet, s.token); err != nil {
		return nil, err
	}
	return s.csv(), nil
}

// open reads what the cells of all sheets refer to and returns the part of a sheet.
func (w *workbook) open(name string) (part string, err error) {
	var book struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var relations struct {
		Each []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := w.decode("xl/workbook.xml", &book); err != nil {
		return "", err
	}
	if err := w.decode("xl/_rels/workbook.xml.rels", &relations); err != nil {
		return "", err
	}
	w.since = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if book.Properties.Date1904 == "1" || book.Properties.Date1904 == "true" {
		w.since = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if err := errors.Join(w.readStrings(), w.readStyles()); err != nil {
		return "", err
	}
	var names []string
	for _, s := range book.Sheets {
		names = append(names, strconv.Quote(s.Name))
		if name != "" && name != s.Name {
			continue
		}
		for _, r := range relations.Each {
			if r.ID == s.ID {
				if inside, ok := strings.CutPrefix(r.Target, "/"); ok {
					return inside, nil
				}
				return path.Join("xl", r.Target), nil
			}
		}
		return "", fmt.Errorf("sheet %q has no part in the file", s.Name)
	}
	return "", fmt.Errorf("there is no sheet %q; there are %s", name, strings.Join(names, ", "))
}

// unpack opens a part, whose bytes count.
func (w *workbook) unpack(part string, most *int64) (io.Reader, io.Closer, error) {
	f := w.parts[part]
	if f == nil {
		return nil, nil, fmt.Errorf("the file has no part %q, so it is no .xlsx file", part)
	}
	r, err := f.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("part %q: %w", part, err)
	}
	return &meteredReader{r, most}, r, nil
}

// meteredReader fails when more bytes are read than are left.
type meteredReader struct {
	io.Reader
	left *int64
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if *r.left -= int64(n); *r.left < 0 {
		return 0, errors.New("the file has too many bytes unpacked")
	}
	return n, err
}

func (w *workbook) decode(part string, into any) (err error) {
	most := int64(mostIndex)
	r, c, err := w.unpack(part, &most)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := xml.NewDecoder(r).Decode(into); err != nil {
		return fmt.Errorf("part %q: %w", part, err)
	}
	return nil
}

// read passes the elements and texts of a part on.
func (w *workbook) read(part string, token func(xml.Token) error) (err error) {
	r, c, err := w.unpack(part, &w.left)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	d := xml.NewDecoder(r)
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = token(t)
		}
		if err != nil {
			return fmt.Errorf("part %q: %w", part, err)
		}
	}
}

// readStrings reads the strings that cells name by number; how they are spoken is left out.
func (w *workbook) readStrings() error {
	if w.parts["xl/sharedStrings.xml"] == nil {
		return nil
	}
	var text strings.Builder
	inText, spoken := false, 0
	return w.read("xl/sharedStrings.xml", func(t xml.Token) error {
		switch t := t.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			if t.Name.Local == "rPh" {
				spoken++
			}
		case xml.EndElement:
			inText = false
			switch t.Name.Local {
			case "rPh":
				spoken--
			case "si":
				if len(w.strings) == mostCells {
					return fmt.Errorf("there are more than %d strings", mostCells)
				}
				w.strings = append(w.strings, text.String())
				text.Reset()
			}
		case xml.CharData:
			if inText && spoken == 0 {
				text.Write(t)
			}
		}
		return nil
	})
}

// readStyles finds the styles whose numbers are dates.
func (w *workbook) readStyles() error {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if w.parts["xl/styles.xml"] == nil {
		return nil
	}
	if err := w.decode("xl/styles.xml", &styles); err != nil {
		return err
	}
	own := map[int]bool{}
	for _, f := range styles.Formats {
		own[f.ID] = isDateFormat(f.Code)
	}
	for _, c := range styles.Cells {
		date, named := own[c.Format]
		builtin := c.Format >= 14 && c.Format <= 22 || c.Format >= 45 && c.Format <= 47 || c.Format >= 27 && c.Format <= 36 || c.Format >= 50 && c.Format <= 58
		w.dates = append(w.dates, named && date || !named && builtin)
	}
	return nil
}
