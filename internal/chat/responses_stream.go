package chat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// responsesAnswer reads an answer of the Responses API.
type responsesAnswer struct {
	ctx          context.Context
	draft        *draft
	text         textStream
	hasReasoning bool // some reasoning has arrived

	items map[int]itemWire // the items that are done, by output_index
	final *responseWire    // the answer in one piece, or the response in the last event
}

// Event implements [Answer].
func (s *responsesAnswer) Event(_ string, data []byte) (done bool, err error) {
	done, err = s.text.afterEvent(s.draft, s.add(data))
	return done || s.final != nil, err
}

// add adds an event of the stream. It ignores other kinds of events: they only repeat content that these have.
func (s *responsesAnswer) add(data []byte) error {
	d := decode(s.ctx, data)
	if !d.opens('{') {
		return errors.New("an event of the stream is not an object")
	}
	e := d.responseEvent()
	if err := d.End(); err != nil {
		return fmt.Errorf("an event of the stream is not one of the Responses API: %w", err)
	}
	switch e.kind {
	case "response.output_text.delta":
		return s.text.write(e.delta)
	case "response.reasoning_summary_part.added":
		if s.hasReasoning {
			return send(s.text.deltas.Reasoning, "\n\n") // as in a whole answer
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.hasReasoning = true
		return send(s.text.deltas.Reasoning, wellFormed(e.delta))
	case "response.output_item.done":
		if _, known := s.items[e.index]; !known && len(s.items) == maxItems {
			return errManyItems
		}
		s.items[e.index] = e.item
	case "response.completed", "response.incomplete", "response.failed":
		s.final = &e.response
		s.final.hasOutput = true // the items that are done
	case "error":
		return &Reported{data}
	}
	return nil
}

// Whole implements [Answer].
func (s *responsesAnswer) Whole(body []byte) error {
	d := decode(s.ctx, body)
	w := d.response()
	if err := d.End(); err != nil {
		return malformedError("response", body, err)
	}
	s.final = &w
	return nil
}

// Complete implements [Answer].
func (s *responsesAnswer) Complete() bool { return s.text.stopped }

// End implements [Answer].
func (s *responsesAnswer) End() error {
	a, err := s.finish()
	if err != nil {
		return err
	}
	return s.draft.complete(a)
}

// finish returns the answer. Its items are those in the last event; if that has none, those whose own events have come.
func (s *responsesAnswer) finish() (*answer, error) {
	if s.text.stopped {
		a := &answer{Reply: Reply{Text: s.text.sent.String(), Stopped: true}, cutOff: s.text.cutOff}
		if s.final != nil {
			a.ID, a.Model, a.Usage = s.final.id, s.final.model, s.final.usage
		}
		return a, nil
	}
	if s.final == nil { // the stream ended without it
		return nil, errBrokenOff
	}
	if len(s.final.items) == 0 {
		for _, place := range slices.Sorted(maps.Keys(s.items)) {
			s.final.items = append(s.final.items, s.items[place])
		}
	}
	a, err := s.final.answer()
	if err != nil {
		return nil, err
	}
	if err := s.text.flush(); err != nil {
		return nil, err
	}
	if !s.hasReasoning && s.text.sent.Len() == 0 { // it came in one piece
		if err := send(s.text.deltas.Reasoning, a.Reasoning); err != nil {
			return nil, err
		}
	}
	// Some hosts send no deltas, or not all: the caller gets the rest, up to the stop sequence.
	unsent, ok := strings.CutPrefix(a.Text, s.text.sent.String())
	a.cutAt(s.draft.stops)
	if !ok { // the text contradicts the deltas, which the caller already has
		return a, nil
	}
	return a, send(s.text.deltas.Text, unsent[:max(0, len(a.Text)-s.text.sent.Len())])
}
