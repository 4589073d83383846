package results

import "fmt"

// Queries are the validation scores that an attempt asked for, as the output stats has them.
type Queries struct {
	Used    int `json:"used"`
	Allowed int `json:"allowed"`
	// Best is the best score in full precision; nil without any.
	Best *float64 `json:"best_score,omitempty"`
}

// Text is the number of queries in words, "" of nil.
func (q *Queries) Text() string {
	if q == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d", q.Used, q.Allowed)
}
