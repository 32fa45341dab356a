package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/examples/safetext"
)

// session is a conversation.
type session struct {
	con     *console
	in      *input
	trace   *trace
	signals *interrupts
	lacks   *lacks
	model   *endpoint
	tools   *adapter.Toolset
	agent   *agent.Agent

	history []run.Message
	turns   int
}

// errReported stands for an error that was shown before.
var errReported = errors.New("reported already")

// talk asks the single question of the options, or has a conversation. At the
// end it reports failures for scripts.
func (s *session) talk(ctx context.Context, o *options) error {
	if o.oneShot {
		if err := s.ask(ctx, o.prompt); isQuit(err) {
			return err
		}
		return s.lacks.report(s.con)
	}
	s.signals.converse()
	if err := s.converse(ctx); err != nil || s.con.interactive {
		return err
	}
	return s.lacks.report(s.con)
}

// converse takes turns until the input or the program ends. It continues after
// a failed turn.
func (s *session) converse(ctx context.Context) error {
	if s.con.interactive {
		s.con.note(s.con.style.faint, "Ask something; /help lists commands; Ctrl-C ends a turn, Ctrl-D the conversation.")
	}
	for {
		question, err := s.question(ctx)
		switch {
		case errors.Is(err, errLongLine):
			s.fail(err)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case question == "":
			continue
		}
		if err := s.ask(ctx, question); errors.Is(err, errQuit) {
			return nil
		}
	}
}

// ask handles a line: a command, or a question to the agent. It reports
// failures itself.
func (s *session) ask(ctx context.Context, text string) error {
	if isCommand(text) {
		return s.command(ctx, text)
	}
	return s.turn(ctx, text)
}

// question waits for the person's line.
func (s *session) question(ctx context.Context) (string, error) {
	if s.con.interactive {
		s.con.prompt()
	}
	text, err := s.in.next(ctx)
	s.con.prompted(err)
	return strings.TrimSpace(text), err
}

// turn puts one question to the agent. It reports a failure and returns
// errReported; the end of the program is not reported.
func (s *session) turn(ctx context.Context, question string) error {
	s.turns++
	s.trace.write(record{Event: "question", Turn: s.turns, Text: question})
	turn, done := s.signals.turn(context.WithValue(ctx, turnKey{}, s.turns))
	defer done()

	messages := append(slices.Clip(s.history), run.Text(run.User, question))
	for e, err := range s.agent.Events(turn, agent.Messages(messages...)) {
		if err != nil {
			s.con.endLine()
			return s.broken(turn, messages, err)
		}
		s.trace.event(s.turns, e)
		s.con.show(e)
		switch e := e.(type) {
		case *agent.ToolStart:
			s.lacks.ran.Add(1)
		case *agent.TurnEnd:
			messages = append(messages, e.Messages...)
		}
	}
	s.history = messages
	return nil
}

// broken ends a turn without an answer. The turn stays in the history with a
// note for the model, because tools may have acted.
func (s *session) broken(turn context.Context, messages []run.Message, err error) error {
	if cause := context.Cause(turn); cause != nil {
		err = cause
	}
	s.trace.write(record{Event: "error", Turn: s.turns, Error: err.Error()})
	note := "(no answer: the turn failed)"
	if errors.Is(err, errInterrupted) {
		note = "(no answer: the user interrupted the turn)"
	}
	s.history = append(messages, run.Text(run.Assistant, note))
	return s.report(err)
}

// report shows the error of a turn or a command, and returns the error for the
// caller.
func (s *session) report(err error) error {
	switch {
	case errors.Is(err, errInterrupted):
		s.con.note(s.con.style.warn, "interrupted; Ctrl-C again leaves")
		return errInterrupted
	case isQuit(err):
		return err
	}
	s.fail(err)
	return errReported
}

// fail shows an error on one line.
func (s *session) fail(err error) {
	s.lacks.failed.Add(1)
	s.con.note(s.con.style.fail, "error: %s", safetext.Line(err.Error()+s.model.hint(err)+longer(err), 2000))
}

func isQuit(err error) bool {
	_, ok := errors.AsType[*quitError](err)
	return ok
}
