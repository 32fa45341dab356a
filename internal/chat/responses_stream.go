package chat

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/sse"
)

// responseStream assembles the events of a stream.
type responseStream struct {
	x      *exchange
	draft  *draft
	spoken spoken
	thinks bool // a part of the reasoning has arrived

	items map[int]itemWire // the items that are done, by output_index
	final *responseWire    // of the last event
}

// assembleResponse reads a stream of the Responses API to its end.
func (x *exchange) assembleResponse(src io.Reader, d *draft, deltas *Deltas) (*answer, error) {
	s := &responseStream{x: x, draft: d, spoken: spoken{deltas: deltas, filter: newStopFilter(d.stops)}, items: map[int]itemWire{}}
	events := x.events(src)
	for s.final == nil && (!s.spoken.cut || d.toEnd) {
		event, err := x.next(events)
		if err == nil {
			err = s.event(event)
		} else if s.spoken.cut && events.AtEnd() {
			err, s.final = nil, &responseWire{} // only the usage is missing
		}
		if err != nil {
			return nil, err
		}
	}
	x.ended = !s.spoken.cut || d.toEnd
	return s.finish()
}

// event takes one event of the stream. Kinds that are not here repeat what these have.
func (s *responseStream) event(event sse.Event) error {
	data := bytes.TrimSpace(event.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return nil
	}
	d := decode(s.x.ctx, data)
	if !d.opens('{') {
		return s.x.newError(CodeMalformed, "an event of the stream is not an object")
	}
	e := d.responseEvent()
	if err := d.End(); err != nil {
		return s.x.newError(CodeMalformed, "an event of the stream is not one of the Responses API: "+err.Error())
	}
	switch e.kind {
	case "response.output_text.delta":
		return s.spoken.write(e.piece)
	case "response.reasoning_summary_part.added":
		if s.thinks {
			return s.spoken.deltas.reason("\n\n") // as in the whole reasoning
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.thinks = true
		return s.spoken.deltas.reason(wellFormed(e.piece))
	case "response.output_item.done":
		if _, known := s.items[e.place]; !known && len(s.items) == maxItems {
			return s.x.newError(CodeMalformed, errManyItems.Error())
		}
		s.items[e.place] = e.item
	case "response.completed", "response.incomplete", "response.failed":
		s.final = &e.response
	case "error":
		return s.x.hostError(200, data)
	}
	return nil
}

// finish returns the answer. Its items are those in the last event, or else those that were done.
func (s *responseStream) finish() (*answer, error) {
	if s.spoken.cut {
		a := &answer{text: s.spoken.text.String(), cut: true, cutOff: s.spoken.cutOff, items: []Item{}}
		if s.final != nil {
			a.id, a.model, a.usage = s.final.id, s.final.model, s.final.usage
		}
		return a, nil
	}
	if len(s.final.items) == 0 {
		for _, place := range slices.Sorted(maps.Keys(s.items)) {
			s.final.items = append(s.final.items, s.items[place])
		}
		s.final.listed = true
	}
	a, err := s.x.response(s.final)
	if err != nil {
		return nil, err
	}
	if err := s.spoken.end(); err != nil {
		return nil, err
	}
	missing, ok := strings.CutPrefix(a.text, s.spoken.text.String())
	a.cutAt(s.draft.stops)
	if !ok {
		return a, nil
	}
	// not every host sends pieces
	return a, s.spoken.deltas.text(missing[:max(0, len(a.text)-s.spoken.text.Len())])
}
