package chat

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/sse"
)

// responseStream assembles an answer from the events of the Responses API.
type responseStream struct {
	exchange     *exchange
	draft        *draft
	text         textStream
	hasReasoning bool // some reasoning has arrived

	items map[int]itemWire // the items that are done, by output_index
	final *responseWire    // the response in the last event
}

// assembleResponse reads a stream of the Responses API to its end.
func (x *exchange) assembleResponse(src io.Reader, d *draft, deltas *Deltas) (*answer, error) {
	text := textStream{deltas: deltas, filter: stopFilter{stops: d.stops}}
	s := &responseStream{exchange: x, draft: d, text: text, items: map[int]itemWire{}}
	events := x.events(src)
	for !s.done() {
		event, err := x.next(events)
		if err == nil {
			err = s.add(event)
		}
		switch {
		case err != nil && s.text.stopped:
			return s.finish() // only the usage is missing
		case err != nil:
			return nil, err
		}
	}
	x.replyComplete = !s.text.stopped || d.readToEnd
	return s.finish()
}

// done reports whether no more events are needed. After a stop sequence they matter only for the
// usage.
func (s *responseStream) done() bool {
	return s.final != nil || s.text.stopped && !s.draft.readToEnd
}

// add adds an event of the stream to the answer. It ignores other kinds of events: they only repeat
// content that these have.
func (s *responseStream) add(event sse.Event) error {
	data := bytes.TrimSpace(event.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil
	}
	d := decode(s.exchange.ctx, data)
	if !d.opens('{') {
		return s.exchange.newError(CodeMalformed, "an event of the stream is not an object")
	}
	e := d.responseEvent()
	if err := d.End(); err != nil {
		return s.exchange.newError(CodeMalformed, "an event of the stream is not one of the Responses API: "+err.Error())
	}
	switch e.kind {
	case "response.output_text.delta":
		return s.text.write(e.delta)
	case "response.reasoning_summary_part.added":
		if s.hasReasoning {
			return s.text.deltas.sendReasoning("\n\n") // as decodeResponse joins the parts
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.hasReasoning = true
		return s.text.deltas.sendReasoning(wellFormed(e.delta))
	case "response.output_item.done":
		if _, known := s.items[e.index]; !known && len(s.items) == maxItems {
			return s.exchange.newError(CodeMalformed, errManyItems.Error())
		}
		s.items[e.index] = e.item
	case "response.completed", "response.incomplete", "response.failed":
		s.final = &e.response
	case "error":
		return s.exchange.bodyError(data)
	}
	return nil
}

// finish returns the answer. Its items are those in the last event, or else those that were done.
func (s *responseStream) finish() (*answer, error) {
	if s.text.stopped {
		a := &answer{text: s.text.sent.String(), stopped: true, cutOff: s.text.cutOff}
		if s.final != nil {
			a.id, a.model, a.usage = s.final.id, s.final.model, s.final.usage
		}
		return a, nil
	}
	if len(s.final.items) == 0 {
		for _, place := range slices.Sorted(maps.Keys(s.items)) {
			s.final.items = append(s.final.items, s.items[place])
		}
		s.final.hasOutput = true
	}
	a, err := s.exchange.answerOf(s.final)
	if err != nil {
		return nil, err
	}
	if err := s.text.flush(); err != nil {
		return nil, err
	}
	// Some hosts send no deltas, or not all: the caller gets the rest, up to the stop sequence.
	unsent, ok := strings.CutPrefix(a.text, s.text.sent.String())
	a.cutAt(s.draft.stops)
	if !ok { // the text contradicts the deltas, which the caller already has
		return a, nil
	}
	return a, s.text.deltas.sendText(unsent[:max(0, len(a.text)-s.text.sent.Len())])
}
