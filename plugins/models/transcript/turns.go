package transcript

import (
	"iter"

	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// mostMarks bounds the remembered marks of conversations. Beyond it all are
// forgotten, and later requests begin new conversations.
const mostMarks = 1 << 18

// Turn is an exchange within a conversation.
type Turn struct {
	*Event
	// Conversation numbers the conversations from 1 by their first exchanges.
	// It is 0 for a request without messages, such as one for the list of
	// models.
	Conversation int
	// Said holds the request's new messages: those that were neither sent
	// earlier nor written by the model.
	Said  []message.Message
	Tools []message.Tool
	Reply message.Message
}

// Turns returns the exchanges in the order in which they ended, each with its
// new messages. A request continues the conversation of which it repeats all or
// most messages.
func (r *Reader) Turns() iter.Seq2[*Turn, error] {
	return func(yield func(*Turn, error) bool) {
		c := newConversations()
		for e, err := range r.Events() {
			var t *Turn
			if err == nil {
				t, err = c.turn(r, e)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// Among returns some consecutive exchanges, each with its new messages.
// Conversations are numbered within these exchanges.
func (r *Reader) Among(events []*Event) ([]*Turn, error) {
	c := newConversations()
	turns := make([]*Turn, len(events))
	for i, e := range events {
		var err error
		if turns[i], err = c.turn(r, e); err != nil {
			return nil, err
		}
	}
	return turns, nil
}

// heard is the conversation to which a message belongs.
type heard struct {
	conversation int
	// whole means that a request or its response ended with the message.
	whole bool
}

type conversations struct {
	requests *message.Reader
	heard    map[message.Mark]heard
	count    int
	marks    []message.Mark
}

func newConversations() *conversations {
	return &conversations{requests: message.NewReader(), heard: map[message.Mark]heard{}}
}

func (c *conversations) turn(r *Reader, e *Event) (*Turn, error) {
	request, err := r.Request(e)
	if err != nil {
		return nil, err
	}
	response, err := r.Response(e)
	if err != nil {
		return nil, err
	}
	t := &Turn{Event: e, Reply: message.Response(e.Provider, e.Operation, response)}
	var said []message.Said
	if said, t.Tools = c.requests.Request(e.Provider, e.Operation, request); len(said) > 0 {
		c.assign(t, said)
	}
	return t, nil
}

// assign determines the conversation of a turn and its new messages.
func (c *conversations) assign(t *Turn, said []message.Said) {
	marks := c.marks[:0]
	var last message.Mark
	for _, m := range said {
		last = m.Mark(last)
		marks = append(marks, last)
	}
	c.marks = marks
	known := c.known(marks)
	if known == 0 {
		c.count++
		t.Conversation = c.count
	} else {
		t.Conversation = c.heard[marks[known-1]].conversation
	}
	for _, m := range said[known:] {
		t.Said = append(t.Said, m.Message)
	}
	if len(c.heard)+len(marks) > mostMarks {
		clear(c.heard)
	}
	for _, m := range marks[known:] {
		c.heard[m] = heard{conversation: t.Conversation}
	}
	c.heard[last] = heard{t.Conversation, true}
	c.heard[t.Reply.Mark(last)] = heard{t.Conversation, true}
}

// known returns the number of leading messages that belong to a conversation
// that the request continues. A request continues a conversation that ended
// there, or one with which it shares at least two messages and half of its own.
func (c *conversations) known(marks []message.Mark) int {
	for n := len(marks); n > 0; n-- {
		if h, ok := c.heard[marks[n-1]]; ok && (h.whole || n >= 2 && 2*n >= len(marks)) {
			return n
		}
	}
	return 0
}
