package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
)

// session is a conversation.
type session struct {
	con     *console
	in      *input
	trace   *trace
	signals *interrupts
	tools   *adapter.Toolset
	agent   *agent.Agent

	history []llms.MessageContent
	turns   int
}

// errReported stands for an error that was shown when it happened.
var errReported = errors.New("reported already")

// converse takes turns until the input or the program ends. On a pipe, where
// nobody sees a turn fail, it goes on and fails at the end.
func (s *session) converse(ctx context.Context) error {
	failed := false
	if s.con.interactive {
		s.con.note(s.con.style.faint, "Ask something; /help lists commands; Ctrl-C ends a turn, Ctrl-D the conversation.")
	}
	for {
		question, err := s.question(ctx)
		switch {
		case errors.Is(err, errLongLine):
			s.fail(err)
			failed = true
			continue
		case errors.Is(err, io.EOF):
			if failed && !s.con.interactive {
				return errReported
			}
			return nil
		case err != nil:
			return err
		case question == "":
			continue
		}
		if s.con.interactive && strings.HasPrefix(question, "/") {
			switch err := s.command(ctx, question); {
			case errors.Is(err, errQuit):
				return nil
			case err != nil:
				s.fail(err)
			}
			continue
		}
		if err := s.turn(ctx, question); err != nil && !errors.Is(err, errInterrupted) {
			failed = true
		}
	}
}

// question waits for what the person says.
func (s *session) question(ctx context.Context) (string, error) {
	if s.con.interactive {
		s.con.prompt()
	}
	text, err := s.in.next(ctx)
	s.con.prompted(err)
	return strings.TrimSpace(text), err
}

// turn puts one question to the agent. A failure is reported before it is
// returned; after one that ended the program there is nothing to say.
func (s *session) turn(ctx context.Context, question string) error {
	s.turns++
	s.trace.write(record{Event: "question", Turn: s.turns, Text: question})
	turn, done := s.signals.turn(context.WithValue(ctx, turnKey{}, s.turns))
	defer done()

	messages := append(slices.Clip(s.history), llms.TextParts(llms.ChatMessageTypeHuman, question))
	for e, err := range s.agent.Events(turn, messages) {
		if err != nil {
			s.con.endLine()
			return s.broken(turn, messages, err)
		}
		s.trace.event(s.turns, e)
		s.con.show(e)
		if e, ok := e.(*agent.TurnEnd); ok {
			messages = append(messages, e.Messages...)
		}
	}
	s.history = messages
	return nil
}

// broken ends a turn that has no answer. What it did stays in the history,
// closed by a word for the model, because tools may have acted.
func (s *session) broken(turn context.Context, messages []llms.MessageContent, err error) error {
	if cause := context.Cause(turn); cause != nil {
		err = cause
	}
	s.trace.write(record{Event: "error", Turn: s.turns, Error: err.Error()})
	note := "(no answer: the turn failed)"
	switch {
	case errors.Is(err, errInterrupted):
		note = "(no answer: the user interrupted the turn)"
		s.con.note(s.con.style.warn, "interrupted; Ctrl-C again leaves")
	case isQuit(err):
	default:
		s.fail(err)
	}
	s.history = append(messages, llms.TextParts(llms.ChatMessageTypeAI, note))
	return err
}

// fail shows an error on one line.
func (s *session) fail(err error) {
	s.con.note(s.con.style.fail, "error: %s", oneLine(err.Error(), 2000))
}

func isQuit(err error) bool {
	_, ok := errors.AsType[*quitError](err)
	return ok
}
