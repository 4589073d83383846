package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/queue"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// State is where a rollout stands.
type State string

// The states of rollouts. The first three are in order; one that was interrupted by the end
// of a server is queued again.
const (
	Queued    State = "queued"
	Running   State = "running"
	Grading   State = "grading"
	Done      State = "done"
	Cancelled State = "cancelled"
	Failed    State = "failed"
)

// Over reports whether a rollout has come to its end.
func (s State) Over() bool { return s == Done || s == Cancelled || s == Failed }

// Request is what somebody asks for.
type Request struct {
	// Key makes a request that is sent again no second rollout.
	Key string `json:"key,omitempty"`
	// Agent is an agent block of the server's pipeline.
	Agent       string `json:"agent"`
	Competition string `json:"competition,omitempty"`
	Data        Data   `json:"data,omitzero"`
	Seed        uint32 `json:"seed"`
	Model       Model  `json:"model,omitzero"`
	Limits      Limits `json:"limits,omitzero"`
	Reward      Reward `json:"reward,omitzero"`
}

// Data are those of an attempt: the competition's, those of its rehearsal or a small split.
// In JSON they are "full", "rehearsal" or {"micro": N, "seed": S}.
type Data struct {
	Rehearsal bool
	// Micro is the number of test ids that are drawn by Seed; 0 is all.
	Micro, Seed uint32
}

// String names the data as people do.
func (d Data) String() string {
	switch {
	case d.Rehearsal:
		return "rehearsal"
	case d.Micro > 0:
		return fmt.Sprintf("micro %d, seed %d", d.Micro, d.Seed)
	}
	return "full"
}

type micro struct {
	Micro uint32 `json:"micro"`
	Seed  uint32 `json:"seed"`
}

// MarshalJSON implements json.Marshaler.
func (d Data) MarshalJSON() ([]byte, error) {
	if d.Micro > 0 && !d.Rehearsal {
		return json.Marshal(micro{d.Micro, d.Seed})
	}
	return json.Marshal(d.String())
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Data) UnmarshalJSON(text []byte) error {
	*d = Data{}
	switch string(text) {
	case `"full"`:
		return nil
	case `"rehearsal"`:
		d.Rehearsal = true
		return nil
	}
	var m micro
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil || m.Micro == 0 {
		return errors.New(`data is "full", "rehearsal" or {"micro": N, "seed": S} with N above 0`)
	}
	d.Micro, d.Seed = m.Micro, m.Seed
	return nil
}

// Model says which model answers: a model block of the agent, by default its first, with
// another model or address that the server allows.
type Model struct {
	Block   string `json:"block,omitempty"`
	Name    string `json:"name,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
}

// Limits are those of the attempt: its time, such as "10m", and for the model block requests,
// tokens and money, such as "1 USD". Zeros leave the server's.
type Limits struct {
	Time   string `json:"time,omitempty"`
	Turns  int64  `json:"turns,omitempty"`
	Tokens int64  `json:"tokens,omitempty"`
	Cost   string `json:"cost,omitempty"`
}

// Reward says how a report becomes a reward.
type Reward struct {
	// Kind is one of reward.Kinds, by default the first.
	Kind string `json:"kind,omitempty"`
	// On is what the agent predicts and is graded on: test, the default, or validation, a
	// part of the training data.
	On string `json:"on,omitempty"`
}

// Rollout is an attempt that somebody asked for.
type Rollout struct {
	ID      string  `json:"id"`
	Key     string  `json:"key"`
	Owner   string  `json:"owner"`
	State   State   `json:"state"`
	Request Request `json:"request"`
	// Run is the run of its attempt, which is named agent/competition/seed there.
	Run     string `json:"run,omitempty"`
	Attempt string `json:"attempt"`
	// Error says why there is no result, of a rollout that failed.
	Error     string    `json:"error,omitempty"`
	Submitted time.Time `json:"submitted"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Result    *Result   `json:"result,omitempty"`
}

// Result is what came of a rollout that is done.
type Result struct {
	// Reward is from 0 to 1.
	Reward float64 `json:"reward"`
	Parts  Parts   `json:"parts"`
	// Turns are the requests to models that were let through.
	Turns     int64             `json:"turns"`
	Tokens    Tokens            `json:"tokens"`
	CostUSD   *float64          `json:"cost_usd"`
	Outcome   outcome.End       `json:"outcome"`
	Integrity grading.Integrity `json:"integrity"`
	Attempt   string            `json:"attempt"`
	Run       string            `json:"run"`
	// Cached reports whether an earlier run has made the attempt.
	Cached bool `json:"cached"`
}

// Parts are what a trainer may make a reward of its own from.
type Parts struct {
	// Valid reports whether the submission has a score, AboveSample whether that is better
	// than the sample submission's.
	Valid       bool `json:"valid"`
	AboveSample bool `json:"above_sample"`
	// Percentile is the share of the human teams that the score is at least as good as;
	// nil in a rehearsal.
	Percentile *float64 `json:"percentile"`
	Medal      string   `json:"medal"`
	// Score is nil without a finite one.
	Score *float64 `json:"score"`
}

// Tokens are those of all models of the attempt.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// The reasons why something is refused. Others are errors of this machine.
var (
	// ErrUnknown means that there is no such rollout.
	ErrUnknown = errors.New("there is no such rollout")
	// ErrInvalid means that a request is wrong by itself.
	ErrInvalid = errors.New("invalid")
	// ErrNoKey means that a request has no key.
	ErrNoKey = fmt.Errorf("%w: send a key of your own, in the header Idempotency-Key or the member key: the same key is the same rollout", ErrInvalid)
	// ErrKey means that a key stands for another request.
	ErrKey = errors.New("the key has another request")
	// ErrLimit means that an owner has reached a limit.
	ErrLimit = queue.ErrLimit
	// ErrOver means that a rollout has ended and cannot be cancelled.
	ErrOver = errors.New("the rollout has ended")
	// ErrLives means that a rollout has not ended.
	ErrLives = errors.New("the rollout has not ended")
)

// maxText is the most bytes of each text of a request.
const maxText = 200

// check refuses a request that no Runner could serve.
func (r *Request) check() error {
	if r.Key == "" {
		return ErrNoKey
	}
	for _, text := range []string{r.Key, r.Agent, r.Competition, r.Model.Block, r.Model.Name, r.Model.BaseURL, r.Limits.Time, r.Limits.Cost, r.Reward.Kind, r.Reward.On} {
		if len(text) > maxText || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
			return fmt.Errorf("%w: %.80q has more than %d characters, or others than those of ASCII that can be printed", ErrInvalid, text, maxText)
		}
	}
	if r.Limits.Turns < 0 || r.Limits.Tokens < 0 {
		return fmt.Errorf("%w: a limit is negative; leave it out for none", ErrInvalid)
	}
	if !slices.Contains([]string{conditions.OnTest, conditions.OnValidation}, r.Reward.On) {
		return fmt.Errorf("%w: reward.on %q: it is %s or %s", ErrInvalid, r.Reward.On, conditions.OnTest, conditions.OnValidation)
	}
	return nil
}

// Attempt is the name of the attempt in its run.
func (r *Request) Attempt() string { return fmt.Sprintf("%s/%s/%d", r.Agent, r.Competition, r.Seed) }
