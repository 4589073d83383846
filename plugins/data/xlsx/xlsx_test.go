package xlsx_test

import (
	"archive/zip"
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/xlsx"
)

const (
	bookPart  = `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="one" r:id="r1"/></sheets></workbook>`
	relations = `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`
)

// file makes a workbook of a sheet, with parts replaced; a part of "" is left out.
func file(t testing.TB, sheet string, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{"xl/workbook.xml": bookPart, "xl/_rels/workbook.xml.rels": relations, "xl/worksheets/sheet1.xml": sheet}
	maps.Copy(all, parts)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range all {
		if text == "" {
			continue
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func data(cells string) string { return "<worksheet><sheetData>" + cells + "</sheetData></worksheet>" }

// Cells without places follow each other; a claimed size does not count.
func TestCSV(t *testing.T) {
	for name, c := range map[string]struct{ sheet, want string }{
		"no places":   {data(`<row><c><v>1</v></c><c t="str"><v>a</v></c></row><row><c><v>2.50</v></c></row>`), "1,a\n2.5,\n"},
		"dimension":   {`<worksheet><dimension ref="A1:XFD1048576"/><sheetData><row r="2"><c r="B2"><v>1</v></c></row></sheetData></worksheet>`, ",\n,1\n"},
		"inline":      {data(`<row><c t="inlineStr"><is><t>a</t><r><t xml:space="preserve"> b</t></r></is></c></row>`), "a b\n"},
		"quotes":      {data(`<row><c t="str"><v>a"b,&#10;c</v></c></row>`), "\"a\"\"b,\nc\"\n"},
		"one column":  {data(`<row r="1"><c><v>1</v></c></row><row r="3"><c><v>2</v></c></row>`), "1\n\"\"\n2\n"},
		"empty":       {data(``), ""},
		"formula":     {data(`<row><c><f>1+1</f><v>2</v></c></row>`), "2\n"},
		"other order": {data(`<row r="2"><c r="B2"><v>4</v></c><c r="A2"><v>3</v></c></row><row r="1"><c r="A1"><v>1</v></c></row>`), "1,\n3,4\n"},
	} {
		f := file(t, c.sheet, nil)
		got, err := xlsx.CSV(bytes.NewReader(f), int64(len(f)), "")
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// Files that are made to harm are errors before they take memory.
func TestHostile(t *testing.T) {
	bomb := strings.Repeat("<row><c><v>1</v></c></row>", 100)
	for name, c := range map[string]struct {
		sheet string
		parts map[string]string
		want  string
	}{
		"far apart":         {data(`<row r="1"><c r="XFD1"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>1</v></c></row>`), nil, "more than 10000000 cells"},
		"column beyond":     {data(`<row><c r="XFE1"><v>1</v></c></row>`), nil, "no place"},
		"row beyond":        {data(`<row r="1048577"><c><v>1</v></c></row>`), nil, "not between"},
		"row overflows":     {data(`<row r="99999999999999999999"/>`), nil, "not between"},
		"place overflows":   {data(`<row><c r="A99999999999999999999"><v>1</v></c></row>`), nil, "no place"},
		"place empty":       {data(`<row><c r="AAAAAAAA1"><v>1</v></c></row>`), nil, "no place"},
		"billion laughs":    {`<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>` + data(`<row><c t="str"><v>&b;</v></c></row>`), nil, "entity"},
		"external entity":   {`<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + data(`<row><c t="str"><v>&a;</v></c></row>`), nil, "entity"},
		"no string":         {data(`<row><c t="s"><v>7</v></c></row>`), nil, "no string"},
		"negative string":   {data(`<row><c t="s"><v>-1</v></c></row>`), nil, "no string"},
		"not a number":      {data(`<row><c><v>1x</v></c></row>`), nil, "not a number"},
		"style":             {data(`<row><c s="x"><v>1</v></c></row>`), nil, "style"},
		"cut off":           {data(bomb)[:900], nil, "EOF"},
		"no sheet":          {"", nil, "no part"},
		"no workbook":       {data(""), map[string]string{"xl/workbook.xml": ""}, "no .xlsx file"},
		"sheets elsewhere":  {data(""), map[string]string{"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="../../../etc/passwd"/></Relationships>`}, "no part"},
		"index too large":   {data(""), map[string]string{"xl/styles.xml": "<styleSheet><cellXfs>" + strings.Repeat(" ", 17<<20) + "</cellXfs></styleSheet>"}, "too many bytes"},
		"a date far off":    {data(`<row><c s="0"><v>1e18</v></c></row>`), map[string]string{"xl/styles.xml": `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`}, "not a date"},
		"a date of nothing": {data(`<row><c s="0"><v>NaN</v></c></row>`), map[string]string{"xl/styles.xml": `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`}, "not a date"},
	} {
		t.Run(name, func(t *testing.T) {
			f := file(t, c.sheet, c.parts)
			if got, err := xlsx.CSV(bytes.NewReader(f), int64(len(f)), ""); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.100q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A part that unpacks to more than the limit is refused while it is read.
func TestBomb(t *testing.T) {
	before := *xlsx.MostUnpacked
	defer func() { *xlsx.MostUnpacked = before }()
	*xlsx.MostUnpacked = 1 << 20
	f := file(t, data(strings.Repeat("<row></row>", 1<<17)), nil)
	if got, err := xlsx.CSV(bytes.NewReader(f), int64(len(f)), ""); err == nil || !strings.Contains(err.Error(), "too many bytes") || len(f) > 1<<16 {
		t.Errorf("%d bytes gave %d, %v", len(f), len(got), err)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte(data(`<row r="2"><c r="B2" t="s" s="1"><v>0</v></c><c t="b"><v>1</v></c></row>`)), []byte(`<sst><si><t>a</t><rPh><t>b</t></rPh></si></sst>`), []byte(`<styleSheet><cellXfs><xf/><xf numFmtId="22"/></cellXfs></styleSheet>`))
	f.Fuzz(func(t *testing.T, sheet, texts, styles []byte) {
		all := file(t, string(sheet), map[string]string{"xl/sharedStrings.xml": string(texts), "xl/styles.xml": string(styles)})
		_, _ = xlsx.CSV(bytes.NewReader(all), int64(len(all)), "")
	})
}
