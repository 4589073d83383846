package site

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Reported is a published row that nothing here vouches for. The figures are percentages
// of competitions with any medal, by split, with their standard errors; nil is unknown.
type Reported struct {
	Agent     string   `json:"agent"`
	Models    string   `json:"models,omitempty"`
	Low       *float64 `json:"low,omitempty"`
	LowSEM    *float64 `json:"low_sem,omitempty"`
	Medium    *float64 `json:"medium,omitempty"`
	MediumSEM *float64 `json:"medium_sem,omitempty"`
	High      *float64 `json:"high,omitempty"`
	HighSEM   *float64 `json:"high_sem,omitempty"`
	All       *float64 `json:"all,omitempty"`
	AllSEM    *float64 `json:"all_sem,omitempty"`
	Hours     string   `json:"hours,omitempty"`
	Date      string   `json:"date,omitempty"`
	Note      string   `json:"note,omitempty"`
	// SourceCode and GradingReports say whether they can be had.
	SourceCode     string `json:"source_code,omitempty"`
	GradingReports string `json:"grading_reports,omitempty"`
	// URL is the agent's page, Source where the row was read, on the day Read.
	URL    string `json:"url,omitempty"`
	Source string `json:"source,omitempty"`
	Read   string `json:"read,omitempty"`
	// Experiment names the run groups with its reports. With Padded, "yes", missing
	// reports count as no submission.
	Experiment string `json:"experiment,omitempty"`
	Padded     string `json:"padded,omitempty"`
	// Recomputed are the figures of those reports; nil if none were given. It is never
	// read from a file.
	Recomputed *Recomputed `json:"recomputed,omitempty"`
}

// maxReported is the largest file of published rows that is read.
const maxReported = 4 << 20

// ReadReported reads published rows: CSV with a header, or an array of objects in
// JSON, by the suffix of the path. The names of columns and fields are the same.
func ReadReported(path string) ([]Reported, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read published rows: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxReported+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read published rows: %w", err)
	case len(text) > maxReported:
		return nil, fmt.Errorf("read published rows: %s is larger than %d MiB", path, maxReported>>20)
	}
	if !strings.HasSuffix(path, ".json") {
		text, err = csvToJSON(text)
	}
	var rows []Reported
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		err = dec.Decode(&rows)
	}
	for i := 0; i < len(rows) && err == nil; i++ {
		if err = rows[i].check(); err != nil {
			err = fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read published rows: %s: %w", path, err)
	}
	return rows, nil
}

// numbers are the places of the figures, by the names of their columns.
func (r *Reported) numbers() map[string]**float64 {
	return map[string]**float64{"low": &r.Low, "low_sem": &r.LowSEM, "medium": &r.Medium, "medium_sem": &r.MediumSEM, "high": &r.High, "high_sem": &r.HighSEM, "all": &r.All, "all_sem": &r.AllSEM}
}

// csvToJSON makes an object of each row; an empty cell is no field.
func csvToJSON(text []byte) ([]byte, error) {
	cells, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	rows := []map[string]any{}
	for n, row := range cells[min(1, len(cells)):] {
		object := map[string]any{}
		for i, name := range cells[0] {
			cell := strings.TrimSpace(row[i])
			switch _, number := new(Reported).numbers()[name]; {
			case cell == "" && name != "agent":
			case number:
				if object[name], err = strconv.ParseFloat(cell, 64); err != nil {
					return nil, fmt.Errorf("row %d: %s is %q, which is not a number", n+1, name, cell)
				}
			default:
				object[name] = cell
			}
		}
		rows = append(rows, object)
	}
	return json.Marshal(rows)
}

func (r *Reported) check() error {
	if r.Agent == "" {
		return fmt.Errorf("it names no agent")
	}
	for name, v := range r.numbers() {
		if *v != nil && !(**v >= 0 && **v <= 100) {
			return fmt.Errorf("%s is %v, which is not a percentage", name, **v)
		}
	}
	for name, address := range map[string]string{"url": r.URL, "source": r.Source} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
			return fmt.Errorf("%s is %q, which is not an address of the web", name, address)
		}
	}
	switch {
	case r.Recomputed != nil:
		return fmt.Errorf("recomputed cannot be given; name the folder of the reports with --runs-dir")
	case r.Padded != "" && r.Padded != "yes" && r.Padded != "no":
		return fmt.Errorf("padded is %q; it is yes or no", r.Padded)
	}
	return nil
}
