package ui

import (
	"bytes"
	"net/http"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/report"
)

// report answers with the report of a run, the file that mleflow report writes.
func (u *UI) report(w http.ResponseWriter, r *http.Request) {
	past, err := u.History.Open(r.PathValue("run"))
	if err != nil {
		u.fail(w, r, err)
		return
	}
	var out bytes.Buffer
	err = u.Results(past, func(c Results) error {
		catalog, err := u.Catalog(past)
		if err != nil {
			return err
		}
		data, err := report.Collect(r.Context(), report.Source{Run: past, Store: c, Index: c, Catalog: catalog, Tail: u.tail})
		if err != nil {
			return err
		}
		return report.Write(&out, data)
	})
	if err != nil {
		u.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", page.FilePolicy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(out.Bytes())
}

// tail is the end of the log of a step in a run.
func (u *UI) tail(run, address string, n int) []string {
	past, err := u.History.Open(run)
	if err != nil {
		return nil
	}
	return past.Tail(address, n)
}

// helpPage lists the keys.
func (u *UI) helpPage(*http.Request) (*content, error) {
	c := &content{title: "Keys"}
	return c, c.add("help", "help", struct{}{})
}
