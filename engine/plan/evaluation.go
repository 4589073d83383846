package plan

// Evaluation is an evaluate block, a comparison of two agents that decides which
// of their attempts run, and what is known of the answer.
type Evaluation struct {
	Name string `json:"name"`
	// Agents are the two agents. Over is the step block that grades them.
	Agents []string `json:"agents"`
	Over   string   `json:"over"`
	// Decide is the verdict that is compared. Difference is the smallest
	// difference that matters, in percentage points.
	Decide     string  `json:"decide"`
	Difference float64 `json:"difference"`
	Confidence float64 `json:"confidence"`
	// Budget is the largest number of attempts.
	Budget int `json:"budget"`

	// Round is the number of rounds that have ended, and Attempts the number of
	// attempts in them. Next is the number of attempts in the next round, or 0
	// after the last one.
	Round    int `json:"round"`
	Attempts int `json:"attempts"`
	Next     int `json:"next"`
	// Decision is the answer: "first better", "second better", "no difference"
	// or "undecided". The other three are the first agent's advantage in
	// percentage points, with its confidence sequence.
	Decision string  `json:"decision"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}
