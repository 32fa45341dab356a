package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/sse"
)

// Deltas are called with the pieces of a reply as they arrive, one at a time, on
// the goroutine that asked. They never get a part of a tool call. An error
// ends the stream and is the error of the call. Either may be nil.
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

// An errCallback is the caller's own error.
type errCallback struct{ error }

func callbackError(err error) error {
	if err == nil {
		return nil
	}
	return errCallback{err}
}

// maxCalls bounds the tool calls of one reply.
const maxCalls = 256

// assembler puts the events of a stream together.
type assembler struct {
	x      *exchange
	draft  *draft
	deltas *Deltas
	filter stopFilter

	answer    answer
	text      strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	calls     []*pendingCall
	byIndex   map[int]*pendingCall
	done      bool // nothing more is to come
}

type pendingCall struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// assemble reads a stream to its end.
func (x *exchange) assemble(src io.Reader, d *draft, deltas *Deltas) (*answer, error) {
	a := &assembler{x: x, draft: d, deltas: deltas, filter: stopFilter{stops: d.stops}, byIndex: map[int]*pendingCall{}}
	events := sse.NewReader(&boundedReader{r: src, left: x.maxReply}, int(x.maxReply))
	for !a.done {
		ev, err := events.Next()
		if err == nil {
			err = a.event(ev)
		} else {
			err = a.end(err)
		}
		switch {
		case err != nil && a.answer.cut:
			a.done = true // all is there but the usage
		case err != nil:
			return nil, err
		}
	}
	return a.finish()
}

// end says whether the stream may end as it does.
func (a *assembler) end(err error) error {
	switch {
	case errors.Is(err, errTooLarge):
		return a.x.tooLarge()
	case a.answer.finish != "" && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)):
		a.done = true // some hosts leave out [DONE], or its blank line
		return nil
	case err == io.EOF:
		return a.x.wrong(CodeTruncated, "the stream ended before the model did")
	}
	return a.x.broken(CodeTruncated, err)
}

// event takes one event of the stream.
func (a *assembler) event(ev sse.Event) error {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case ev.Type == "error":
		return a.x.reported(200, data)
	case string(data) == "[DONE]":
		a.done = true
		return nil
	case len(data) == 0:
		return nil
	}
	var w replyWire
	if err := json.Unmarshal(data, &w); err != nil {
		return a.x.wrong(CodeMalformed, "an event of the stream is no chunk of a chat completion: "+err.Error())
	}
	if hasError(w.Error) {
		return a.x.reported(200, data)
	}
	a.head(&w)
	choice := firstChoice(w.Choices)
	if choice == nil {
		return nil // usage, or Azure's verdict on the prompt
	}
	if hasError(choice.Error) {
		return a.x.reported(200, choice.Error)
	}
	return a.choice(choice)
}

// head takes what any chunk may hold.
func (a *assembler) head(w *replyWire) {
	if w.ID != "" {
		a.answer.id = string(w.ID)
	}
	if w.Model != "" {
		a.answer.model = string(w.Model)
	}
	if u := decodeUsage(w.Usage); u != nil {
		a.answer.usage = u
	}
}

func (a *assembler) choice(choice *choiceWire) error {
	m := &choice.Delta
	if a.answer.cut {
		a.answer.cutOff += m.size()
		return nil
	}
	if s := m.reasoning(); s != "" {
		a.reasoning.WriteString(s)
		if err := a.deltas.reason(s); err != nil {
			return err
		}
	}
	a.refusal.WriteString(string(m.Refusal))
	came := len(a.filter.held) + len(m.Content)
	text, stopped := a.filter.write(string(m.Content))
	a.text.WriteString(text)
	if err := a.deltas.text(text); err != nil {
		return err
	}
	if stopped {
		a.answer.cut, a.answer.cutOff = true, came-len(text)
		a.done = !a.draft.toEnd
		return nil
	}
	for _, delta := range m.calls() {
		if err := a.call(&delta); err != nil {
			return err
		}
	}
	if choice.Finish != "" {
		a.answer.finish, a.answer.stopWord = string(choice.Finish), string(choice.StopReason)
	}
	return nil
}

// call takes a piece of a tool call. The id and the name come first, and are
// repeated by some hosts.
func (a *assembler) call(delta *toolCallWire) error {
	call := a.pending(delta)
	if call == nil {
		if len(a.calls) > maxCalls { // no more than settleCalls refuses
			return nil
		}
		call = &pendingCall{}
		a.calls = append(a.calls, call)
		if delta.Index.n != nil {
			a.byIndex[*delta.Index.n] = call
		}
	}
	if call.id == "" {
		call.id = string(delta.ID)
	}
	if call.name == "" {
		call.name = string(delta.Function.Name)
	}
	if delta.Extra != nil {
		call.extra = delta.Extra
	}
	call.arguments.WriteString(string(delta.Function.Arguments))
	return nil
}

// pending finds the call that a piece belongs to, nil for a new one. Gemini
// gives no index, or the same index to several calls, and each call in one
// piece.
func (a *assembler) pending(delta *toolCallWire) *pendingCall {
	id, name := string(delta.ID), string(delta.Function.Name)
	if delta.Index.n != nil {
		call := a.byIndex[*delta.Index.n]
		if call != nil && id != "" && call.id != "" && id != call.id {
			return nil
		}
		return call
	}
	if len(a.calls) == 0 {
		return nil
	}
	if id != "" {
		for _, call := range a.calls {
			if call.id == id {
				return call
			}
		}
		return nil
	}
	if name != "" {
		return nil
	}
	return a.calls[len(a.calls)-1]
}

// finish closes the answer.
func (a *assembler) finish() (*answer, error) {
	if !a.answer.cut {
		rest := a.filter.flush()
		a.text.WriteString(rest)
		if err := a.deltas.text(rest); err != nil {
			return nil, err
		}
	}
	a.answer.text, a.answer.reasoning, a.answer.refusal = a.text.String(), a.reasoning.String(), a.refusal.String()
	for _, call := range a.calls {
		a.answer.calls = append(a.answer.calls, answerCall{
			ToolCall{ID: call.id, Name: call.name, Arguments: call.arguments.String()}, call.extra,
		})
	}
	return &a.answer, nil
}

// watchedReader puts off a timer whenever bytes arrive.
type watchedReader struct {
	r     io.Reader
	timer *time.Timer
	every time.Duration
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.timer.Reset(w.every)
	}
	return n, err
}
