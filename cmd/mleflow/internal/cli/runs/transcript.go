package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// The outputs that hold transcripts: that of an attempt, and that of a check with
// its judge.
const (
	transcriptOutput = "transcript"
	judgedOutput     = "judge_transcript"
)

// WithTranscript opens the transcript of an attempt.
func WithTranscript(ctx context.Context, a *app.App, past *history.Past, address string, use func(*cache.Record, *transcript.Reader) error) error {
	return a.WithRecord(ctx, past, address, func(c app.ResultCache, rec *cache.Record) error {
		ref := cmp.Or(rec.Outputs[transcriptOutput].Ref, rec.Outputs[judgedOutput].Ref)
		if ref.IsZero() {
			return app.Usagef("%s has no transcript: it is no attempt of an agent that uses model blocks", view.OneLine(address))
		}
		r, err := transcript.OpenReader(tree.NewFS(ctx, c, ref))
		if err != nil {
			return err
		}
		return errors.Join(use(rec, r), r.Close())
	})
}

// printTranscript writes the conversations of an attempt.
func printTranscript(ctx context.Context, a *app.App, past *history.Past, address string, full bool) error {
	return WithTranscript(ctx, a, past, address, func(_ *cache.Record, r *transcript.Reader) error {
		if a.JSON {
			return writeTurns(json.NewEncoder(a.Stdout), r)
		}
		v := &view.Transcript{Out: a.Stdout, Style: view.StyleFor(a.Stdout, a.NoColor), Full: full}
		for t, err := range r.Turns() {
			if err != nil {
				return err
			}
			if err := v.Turn(t); err != nil {
				return err
			}
		}
		return v.End()
	})
}

// ShownTurn is an exchange in logs --transcript --json, one a line.
type ShownTurn struct {
	*transcript.Event
	Request      *struct{}         `json:"request,omitempty"`
	Response     *struct{}         `json:"response,omitempty"`
	Conversation int               `json:"conversation"`
	Said         []message.Message `json:"said"`
	Reply        message.Message   `json:"reply"`
}

func writeTurns(enc *json.Encoder, r *transcript.Reader) error {
	enc.SetEscapeHTML(false)
	for t, err := range r.Turns() {
		if err != nil {
			return err
		}
		if err := enc.Encode(ShownTurn{Event: t.Event, Conversation: t.Conversation, Said: t.Said, Reply: t.Reply}); err != nil {
			return err
		}
	}
	return nil
}
