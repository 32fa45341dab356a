package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Deltas holds callbacks for the pieces of a reply as they arrive. They run one at a time, on the caller's goroutine,
// and get no tool calls. Their error ends the stream and is the error of the call. Either may be nil.
type Deltas struct {
	Text      func(piece string) error
	Reasoning func(piece string) error
}

// send passes a piece, unless it is empty, to a callback, unless that is nil.
func send(callback func(string) error, piece string) error {
	if callback == nil || piece == "" {
		return nil
	}
	if err := callback(piece); err != nil {
		return &Stopped{err}
	}
	return nil
}

// textStream passes the text of a stream to the caller as it arrives, up to a stop sequence.
type textStream struct {
	deltas  Deltas
	pieces  wellFormedPieces
	filter  stopFilter
	sent    strings.Builder
	stopped bool // the text ended at a stop sequence
	cutOff  int  // bytes of the reply from the stop sequence on
}

// newAnswer returns the answer to a request.
func (d *draft) newAnswer(ctx context.Context, deltas Deltas) Answer {
	text := textStream{deltas: deltas, filter: stopFilter{stops: d.stops}}
	if d.endpoint == Responses {
		return &responsesAnswer{ctx: ctx, draft: d, text: text, items: map[int]itemWire{}}
	}
	a := &chatAnswer{ctx: ctx, draft: d, text: text, calls: streamedCalls{names: d.names, byIndex: map[int]*streamedCall{}}}
	if !d.hasTags() { // all is text
		a.thoughts.at = inRest
	}
	return a
}

// afterEvent returns whether the text ends the answer, for the error of an event: after a stop sequence only the usage is
// missing.
func (s *textStream) afterEvent(d *draft, err error) (done bool, _ error) {
	switch _, own := errors.AsType[*Stopped](err); {
	case own || !s.stopped:
		return false, err
	case !d.readToEnd:
		return false, errEnough
	}
	return err != nil, nil
}

// write adds a piece of the text. Text behind a stop sequence is only counted.
func (s *textStream) write(piece string) error {
	if s.stopped {
		s.cutOff += len(piece)
		return nil
	}
	return s.writeWellFormed(s.pieces.write(piece))
}

// writeWellFormed passes text up to a stop sequence to the caller. Text that may begin a stop
// sequence waits in the filter.
func (s *textStream) writeWellFormed(piece string) error {
	total := len(s.filter.held) + len(piece)
	text, stopped := s.filter.write(piece)
	if stopped {
		s.stopped, s.cutOff = true, total-len(text)
	}
	return s.send(text)
}

func (s *textStream) send(text string) error {
	s.sent.WriteString(text)
	return send(s.deltas.Text, text)
}

// flush passes on the text that was held back, at the end of the stream.
func (s *textStream) flush() error {
	if s.stopped {
		return nil
	}
	if err := s.writeWellFormed(s.pieces.flush()); err != nil || s.stopped {
		return err
	}
	return s.send(s.filter.flush())
}

// chatAnswer reads an answer of Chat Completions. It reads an answer in one piece like a stream with one event.
type chatAnswer struct {
	ctx   context.Context
	draft *draft
	text  textStream

	answer          answer
	thoughts        thoughtFilter
	reasoningPieces wellFormedPieces
	reasoning       strings.Builder
	details         streamedDetails
	refusal         strings.Builder
	calls           streamedCalls
	hasDelta        bool // a delta had content
}

// Event implements [Answer].
func (s *chatAnswer) Event(kind string, data []byte) (done bool, err error) {
	if kind == "error" {
		return false, &Reported{data}
	}
	w, err := decode(s.ctx, data).reply()
	switch {
	case err != nil:
		err = fmt.Errorf("an event of the stream is not a chunk of a chat completion: %w", err)
	case hasError(w.error):
		err = &Reported{data}
	default:
		err = s.add(&w)
	}
	return s.text.afterEvent(s.draft, err)
}

// Whole implements [Answer].
func (s *chatAnswer) Whole(body []byte) error {
	w, err := decode(s.ctx, body).reply()
	switch {
	case err != nil:
		return malformedError("chat completion", body, err)
	case hasError(w.error):
		return &Reported{body}
	case w.choice == nil:
		return &Error{Code: CodeEmpty, Message: "the answer has no choice"}
	}
	m := &w.choice.message
	for i := range m.calls {
		m.calls[i].index = &i // each is a call of its own
	}
	s.answer.Details, m.details = m.details, nil
	if m.reasoning == "" {
		m.reasoning, m.content = s.draft.splitThought(m.content)
	}
	return s.add(&w)
}

// Complete implements [Answer].
func (s *chatAnswer) Complete() bool { return s.answer.Finish != "" || s.text.stopped }

// add adds an event of a stream, or an answer in one piece.
func (s *chatAnswer) add(w *replyWire) error {
	s.answer.ID, s.answer.Model = cmp.Or(w.id, s.answer.ID), cmp.Or(w.model, s.answer.Model)
	if w.usage != nil {
		s.answer.Usage = w.usage
	}
	switch {
	case w.choice == nil: // usage, or Azure's verdict on the prompt
		return nil
	case hasError(w.choice.error):
		return &Reported{w.choice.error}
	}
	m := s.newContent(w.choice)
	if s.text.stopped {
		s.text.cutOff += m.size()
		return nil
	}
	s.details.add(m.details)
	thought, text := s.thoughts.write(m.content)
	if err := s.addReasoning(s.reasoningPieces.write(m.reasoning + thought)); err != nil {
		return err
	}
	s.refusal.WriteString(m.refusal)
	if err := s.text.write(text); err != nil {
		return err
	}
	for i := range m.calls {
		if err := s.calls.add(&m.calls[i]); err != nil {
			return err
		}
	}
	if w.choice.finish != "" {
		s.answer.Finish, s.answer.stopSequence = w.choice.finish, w.choice.stopReason
	}
	return nil
}

// newContent returns the content that a chunk adds to the answer: its delta, or its message if it
// has no delta. Some hosts repeat the complete message at the end.
func (s *chatAnswer) newContent(choice *choiceWire) *messageWire {
	m := &choice.message
	switch {
	case !choice.delta.empty():
		s.hasDelta = true
		return &choice.delta
	case !s.hasDelta || m.empty():
		return m
	}
	rest := &messageWire{}
	mayAdd := s.thoughts.at == atStart || s.thoughts.at == inRest
	if text, ok := strings.CutPrefix(wellFormed(m.content), s.text.sent.String()); ok && mayAdd {
		if text, ok = strings.CutPrefix(text, s.text.filter.held); ok {
			rest.content = text
		}
	}
	if s.refusal.Len() == 0 {
		rest.refusal = m.refusal
	}
	if s.reasoning.Len() == 0 {
		rest.reasoning = m.reasoning
	}
	if len(s.details.all) == 0 {
		rest.details = m.details
	}
	if len(s.calls.calls) == 0 {
		rest.calls = m.calls
	}
	return rest
}

// addReasoning adds to the reasoning and passes it to the caller.
func (s *chatAnswer) addReasoning(thought string) error {
	s.reasoning.WriteString(thought)
	return send(s.text.deltas.Reasoning, thought)
}

// End implements [Answer].
func (s *chatAnswer) End() error {
	thought, text := s.thoughts.flush()
	if err := s.text.write(text); err != nil {
		return err
	}
	if err := s.text.flush(); err != nil {
		return err
	}
	if err := s.addReasoning(s.reasoningPieces.write(thought) + s.reasoningPieces.flush()); err != nil {
		return err
	}
	a := &s.answer
	a.Text, a.Stopped, a.cutOff = s.text.sent.String(), s.text.stopped, s.text.cutOff
	a.Reasoning, a.openThought = s.reasoning.String(), s.thoughts.at == inThought
	a.Refusal, a.ToolCalls = wellFormed(s.refusal.String()), s.calls.list()
	if a.Details == nil {
		a.Details = s.details.list()
	}
	if a.Reasoning == "" {
		a.Reasoning, a.Text = s.draft.splitThought(a.Text)
	}
	return s.draft.complete(a)
}

// cutAtStop cuts a text before the stop sequence that is complete first, as a host does that looks at each token. If
// several end there, it cuts before the longest.
func cutAtStop(text string, stops []string) (string, bool) {
	at, end := -1, len(text)+1
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 && (i+len(s) < end || i+len(s) == end && i < at) {
			at, end = i, i+len(s)
		}
	}
	if at < 0 {
		return text, false
	}
	return text[:at], true
}

// stopFilter cuts a text that comes in pieces in the same way. It holds back text that may begin a stop sequence.
type stopFilter struct {
	stops []string
	held  string
}

// write adds a piece and returns the text in which no stop sequence can begin. The caller must not
// write more after a stop sequence.
func (f *stopFilter) write(piece string) (text string, stopped bool) {
	text, stopped = cutAtStop(f.held+piece, f.stops)
	hold := 0
	if !stopped {
		for _, s := range f.stops {
			hold = max(hold, overlap(text, s))
		}
	}
	f.held = text[len(text)-hold:]
	return text[:len(text)-hold], stopped
}

// flush returns the text that was held back, at the end of the text.
func (f *stopFilter) flush() string {
	held := f.held
	f.held = ""
	return held
}

// overlap returns the length of the longest beginning of word, other than word itself, at the end of the text.
func overlap(text, word string) int {
	n := min(len(text), len(word)-1)
	for !strings.HasSuffix(text, word[:n]) {
		n--
	}
	return n
}
