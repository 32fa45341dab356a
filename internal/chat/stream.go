package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/internal/sse"
)

// Deltas has callbacks for the pieces of a reply as they arrive. They run one at a time, on the caller's goroutine,
// and get no tool calls. Their error ends the stream and is the error of the call. Either may be nil.
type Deltas struct {
	Text      func(piece string) error
	Reasoning func(piece string) error
}

func (d *Deltas) text(piece string) error {
	if d == nil || d.Text == nil || piece == "" {
		return nil
	}
	return callbackError(d.Text(piece))
}

func (d *Deltas) reason(piece string) error {
	if d == nil || d.Reasoning == nil || piece == "" {
		return nil
	}
	return callbackError(d.Reasoning(piece))
}

// Stopped is an error of the caller that ends the request.
type Stopped struct{ Err error }

func (s *Stopped) Error() string { return s.Err.Error() }

func callbackError(err error) error {
	if err == nil {
		return nil
	}
	return &Stopped{err}
}

// spoken is the text of a stream, which it passes to the caller as it arrives, up to a stop sequence.
type spoken struct {
	deltas *Deltas
	pieces wellFormedPieces
	filter stopFilter
	text   strings.Builder
	cut    bool // the text ended at a stop sequence
	cutOff int  // bytes after it
}

// write takes a piece of the text.
func (s *spoken) write(piece string) error {
	if s.cut {
		s.cutOff += len(piece)
		return nil
	}
	return s.filtered(s.pieces.write(piece))
}

func (s *spoken) filtered(piece string) error {
	came := len(s.filter.held) + len(piece)
	text, stopped := s.filter.write(piece)
	if stopped {
		s.cut, s.cutOff = true, came-len(text)
	}
	return s.say(text)
}

func (s *spoken) say(text string) error {
	s.text.WriteString(text)
	return s.deltas.text(text)
}

// end takes what was held back.
func (s *spoken) end() error {
	if s.cut {
		return nil
	}
	if err := s.filtered(s.pieces.flush()); err != nil || s.cut {
		return err
	}
	return s.say(s.filter.flush())
}

// assembler assembles the events of a stream.
type assembler struct {
	x      *exchange
	draft  *draft
	side   *sideLines
	spoken spoken

	answer    answer
	thoughts  wellFormedPieces
	reasoning strings.Builder
	details   streamedDetails
	refusal   strings.Builder
	calls     streamedCalls
	begun     bool // a chunk has arrived
	hasDelta  bool // a delta had content
	done      bool // the stream is complete
}

// assemble reads a stream to its end.
func (x *exchange) assemble(src io.Reader, d *draft, deltas *Deltas) (*answer, error) {
	side := &sideLines{r: x.bounded(src)}
	a := &assembler{
		x: x, draft: d, side: side, spoken: spoken{deltas: deltas, filter: newStopFilter(d.stops)},
		calls: streamedCalls{names: d.names, byIndex: map[int]*streamedCall{}},
	}
	events := sse.NewReader(side, int(x.maxReply))
	for !a.done {
		ev, err := events.Next()
		if err == nil {
			err = a.event(ev)
		} else {
			err = a.end(err)
		}
		switch {
		case err != nil && a.spoken.cut:
			a.done = true // only the usage is missing
		case err == errNoStream:
			x.body = side.kept
			return x.whole(d, deltas, x.decodeReply)
		case err != nil:
			return nil, err
		}
	}
	x.ended = !a.spoken.cut || d.toEnd
	return a.finish()
}

// errNoStream means that the answer came in one piece instead of a stream.
var errNoStream = errors.New("an answer in one piece")

// end returns an error if the stream must not end here. err is the reader's error, nil after [DONE].
func (a *assembler) end(err error) error {
	ended := err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case isTooLarge(err):
		return a.x.tooLarge()
	case a.answer.finish != "" && (ended || a.x.ctx.Err() == nil):
		a.done = true // some hosts omit [DONE], or its blank line, and some break off after the reply
		return nil
	case ended && !a.begun && json.Valid(a.side.kept):
		return errNoStream
	case a.side.failed(a.x.ctx):
		return a.x.hostError(200, a.side.kept)
	case err == nil && a.begun: // some hosts give no reason to stop
		a.done = true
		return nil
	case err == nil, err == io.EOF:
		return a.x.newError(CodeTruncated, "the stream ended before the model did")
	}
	return a.x.wrapError(CodeTruncated, err)
}

// event takes one event of the stream.
func (a *assembler) event(ev sse.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case ev.Type == "error":
		return a.x.hostError(200, data)
	case string(data) == "[DONE]":
		return a.end(nil)
	case len(data) == 0:
		return nil
	}
	w, err := decode(a.x.ctx, data).reply()
	if err != nil {
		return a.x.newError(CodeMalformed, "an event of the stream is not a chunk of a chat completion: "+err.Error())
	}
	if hasError(w.error) {
		return a.x.hostError(200, data)
	}
	a.begun = true
	a.head(&w.replyHead)
	if w.choice == nil {
		return nil // usage, or Azure's verdict on the prompt
	}
	if hasError(w.choice.error) {
		return a.x.hostError(200, w.choice.error)
	}
	return a.choice(w.choice)
}

// head takes the fields that any chunk may have.
func (a *assembler) head(w *replyHead) {
	a.answer.id, a.answer.model = cmp.Or(w.id, a.answer.id), cmp.Or(w.model, a.answer.model)
	if w.usage != nil {
		a.answer.usage = w.usage
	}
}

// choice takes a piece of the answer.
func (a *assembler) choice(choice *choiceWire) error {
	m := a.piece(choice)
	if a.spoken.cut {
		a.spoken.cutOff += m.size()
		return nil
	}
	a.details.add(m.details)
	if err := a.think(a.thoughts.write(m.reasoning)); err != nil {
		return err
	}
	a.refusal.WriteString(m.refusal)
	if err := a.spoken.write(m.content); err != nil || a.spoken.cut {
		a.done = a.spoken.cut && !a.draft.toEnd
		return err
	}
	for i := range m.calls {
		if err := a.calls.add(&m.calls[i]); err != nil {
			return a.x.newError(CodeMalformed, err.Error())
		}
	}
	if choice.finish != "" {
		a.answer.finish, a.answer.stopWord = choice.finish, choice.stopReason
	}
	return nil
}

// piece returns what a chunk adds to the answer: its delta, or its message if it has no delta. Some hosts repeat the
// complete message at the end.
func (a *assembler) piece(choice *choiceWire) *messageWire {
	m := &choice.message
	switch {
	case !choice.delta.empty():
		a.hasDelta = true
		return &choice.delta
	case !a.hasDelta || m.empty():
		return m
	}
	rest := &messageWire{}
	if text, ok := strings.CutPrefix(wellFormed(m.content), a.spoken.text.String()); ok {
		if text, ok = strings.CutPrefix(text, a.spoken.filter.held); ok {
			rest.content = text
		}
	}
	if a.refusal.Len() == 0 {
		rest.refusal = m.refusal
	}
	if a.reasoning.Len() == 0 {
		rest.reasoning = m.reasoning
	}
	if len(a.details.all) == 0 {
		rest.details = m.details
	}
	if len(a.calls.calls) == 0 {
		rest.calls = m.calls
	}
	return rest
}

// think adds to the reasoning and passes it to the caller.
func (a *assembler) think(thought string) error {
	a.reasoning.WriteString(thought)
	return a.spoken.deltas.reason(thought)
}

// finish completes the answer.
func (a *assembler) finish() (*answer, error) {
	if err := a.spoken.end(); err != nil {
		return nil, err
	}
	if err := a.think(a.thoughts.flush()); err != nil {
		return nil, err
	}
	a.answer.text, a.answer.cut, a.answer.cutOff = a.spoken.text.String(), a.spoken.cut, a.spoken.cutOff
	a.answer.reasoning, a.answer.refusal = a.reasoning.String(), wellFormed(a.refusal.String())
	a.answer.details, a.answer.calls = a.details.list(), a.calls.answer()
	return &a.answer, nil
}
