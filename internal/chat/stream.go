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

// Deltas holds callbacks for the pieces of a reply as they arrive. They run one at a time, on the caller's goroutine,
// and get no tool calls. Their error ends the stream and is the error of the call. Either may be nil.
type Deltas struct {
	Text      func(piece string) error
	Reasoning func(piece string) error
}

func (d *Deltas) sendText(piece string) error {
	if d == nil || d.Text == nil || piece == "" {
		return nil
	}
	return callbackError(d.Text(piece))
}

func (d *Deltas) sendReasoning(piece string) error {
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

// textStream passes the text of a stream to the caller as it arrives, up to a stop sequence.
type textStream struct {
	deltas  *Deltas
	pieces  wellFormedPieces
	filter  stopFilter
	sent    strings.Builder
	stopped bool // the text ended at a stop sequence
	cutOff  int  // bytes of the reply from the stop sequence on
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
	return s.deltas.sendText(text)
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

// chatStream assembles an answer from the chunks of Chat Completions.
type chatStream struct {
	exchange  *exchange
	draft     *draft
	sideLines *sideLines
	text      textStream

	answer          answer
	thoughts        thoughtFilter
	reasoningPieces wellFormedPieces
	reasoning       strings.Builder
	details         streamedDetails
	refusal         strings.Builder
	calls           streamedCalls
	begun           bool // a chunk has arrived
	hasDelta        bool // a delta had content
	done            bool // the stream is complete
}

// assemble reads a stream to its end.
func (x *exchange) assemble(src io.Reader, d *draft, deltas *Deltas) (*answer, error) {
	side := &sideLines{r: x.limitReader(src)}
	s := &chatStream{
		exchange: x, draft: d, sideLines: side, thoughts: d.newThoughtFilter(), text: textStream{deltas: deltas, filter: stopFilter{stops: d.stops}},
		calls: streamedCalls{names: d.names, byIndex: map[int]*streamedCall{}},
	}
	events := sse.NewReader(side, int(x.maxReply))
	for !s.done {
		ev, err := events.Next()
		if err == nil {
			err = s.add(ev)
		} else {
			err = s.end(err)
		}
		switch {
		case err != nil && s.text.stopped:
			s.done = true // only the usage is missing
		case err == errNoStream:
			x.body = side.lines
			return x.readWhole(d, deltas, x.decodeReply)
		case err != nil:
			return nil, err
		}
	}
	x.replyComplete = !s.text.stopped || d.readToEnd
	return s.finish()
}

// errNoStream means that the answer came in one piece instead of a stream.
var errNoStream = errors.New("an answer in one piece")

// end ends the stream, or returns an error if the stream must not end here. err is the reader's error, nil after [DONE].
func (s *chatStream) end(err error) error {
	streamEnded := err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case isTooLarge(err):
		return s.exchange.tooLarge()
	case s.answer.finish != "" && (streamEnded || s.exchange.mayEnd()):
		s.done = true // some hosts omit [DONE], or its blank line, and some break off after the reply
		return nil
	case streamEnded && !s.begun && json.Valid(s.sideLines.lines):
		return errNoStream
	case s.sideLines.hasError(s.exchange.ctx):
		return s.exchange.bodyError(s.sideLines.lines)
	case err == nil && s.begun: // some hosts give no reason to stop
		s.done = true
		return nil
	case err == nil, err == io.EOF:
		return s.exchange.newError(CodeTruncated, "the stream ended before the model did")
	}
	return s.exchange.wrapError(CodeTruncated, err)
}

// add adds an event of the stream to the answer.
func (s *chatStream) add(ev sse.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case ev.Type == "error":
		return s.exchange.bodyError(data)
	case string(data) == "[DONE]":
		return s.end(nil)
	case len(data) == 0:
		return nil
	}
	w, err := decode(s.exchange.ctx, data).reply()
	if err != nil {
		return s.exchange.newError(CodeMalformed, "an event of the stream is not a chunk of a chat completion: "+err.Error())
	}
	if hasError(w.error) {
		return s.exchange.bodyError(data)
	}
	s.begun = true
	s.addHead(&w.replyHead)
	if w.choice == nil {
		return nil // usage, or Azure's verdict on the prompt
	}
	if hasError(w.choice.error) {
		return s.exchange.bodyError(w.choice.error)
	}
	return s.addChoice(w.choice)
}

// addHead adds the members that any chunk may have.
func (s *chatStream) addHead(w *replyHead) {
	s.answer.id, s.answer.model = cmp.Or(w.id, s.answer.id), cmp.Or(w.model, s.answer.model)
	if w.usage != nil {
		s.answer.usage = w.usage
	}
}

// addChoice adds a piece of the answer.
func (s *chatStream) addChoice(choice *choiceWire) error {
	m := s.newContent(choice)
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
	if err := s.text.write(text); err != nil || s.text.stopped {
		s.done = s.text.stopped && !s.draft.readToEnd
		return err
	}
	for i := range m.calls {
		if err := s.calls.add(&m.calls[i]); err != nil {
			return s.exchange.newError(CodeMalformed, err.Error())
		}
	}
	if choice.finish != "" {
		s.answer.finish, s.answer.stopSequence = choice.finish, choice.stopReason
	}
	return nil
}

// newContent returns the content that a chunk adds to the answer: its delta, or its message if it
// has no delta. Some hosts repeat the complete message at the end.
func (s *chatStream) newContent(choice *choiceWire) *messageWire {
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
func (s *chatStream) addReasoning(thought string) error {
	s.reasoning.WriteString(thought)
	return s.text.deltas.sendReasoning(thought)
}

// finish completes the answer.
func (s *chatStream) finish() (*answer, error) {
	thought, text := s.thoughts.flush()
	if err := s.text.write(text); err != nil {
		return nil, err
	}
	if err := s.text.flush(); err != nil {
		return nil, err
	}
	if err := s.addReasoning(s.reasoningPieces.write(thought) + s.reasoningPieces.flush()); err != nil {
		return nil, err
	}
	s.answer.text, s.answer.stopped, s.answer.cutOff = s.text.sent.String(), s.text.stopped, s.text.cutOff
	s.answer.reasoning, s.answer.openThought = s.reasoning.String(), s.thoughts.at == inThought
	s.answer.refusal = wellFormed(s.refusal.String())
	s.answer.details = s.details.list()
	s.answer.calls = s.calls.list()
	s.draft.splitThought(&s.answer)
	return &s.answer, nil
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
