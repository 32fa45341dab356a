package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/reason"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// askModel asks the agent a question, after it got the instructions and skills of servers that have joined. It reports
// failures, but not the end of the program.
func (s *Session) askModel(ctx context.Context, question run.Message) error {
	if s.Servers.joined.Swap(false) {
		if err := s.makeAgent(ctx); err != nil {
			s.Servers.joined.Store(true)
			return s.report(cmp.Or(context.Cause(ctx), err))
		}
	}
	s.views.attachContext(&question)
	return s.showTurn(ctx, []run.Message{question}, s.conversation.events(ctx, question))
}

// showTurn shows the events of a turn, and adds its input and its messages to the history. It also keeps results, saves
// their pictures and offers their views.
func (s *Session) showTurn(ctx context.Context, input []run.Message, events iter.Seq2[agent.Event, error]) error {
	messages := append(slices.Clip(s.conversation.history), input...)
	s.conversation.turnUnfinished = 0
	started := map[string]bool{} // by call: one that waited for an answer starts twice, but is shown once
	shown := false               // a message of the model
	s.Screen.Begin()
	defer s.Screen.End()
	for e, err := range events {
		if err != nil {
			s.Screen.End()
			return s.endFailedTurn(ctx, messages, err)
		}
		s.conversation.count(e)
		if start, ok := e.(*agent.ToolStart); !ok || !started[start.ID] {
			s.Screen.Show(e)
		}
		switch e := e.(type) {
		case *agent.ToolStart:
			started[e.ID] = true
		case *agent.ToolEnd:
			s.results.add(newResult(e))
			s.downloads.saveResult(e)
			s.views.offer(e)
		case *agent.TurnEnd:
			messages = append(messages, e.Messages...)
			shown = true
		case *agent.Output:
			if !shown { // another program has ended the turn
				s.deliver(e.Text)
			}
		}
	}
	s.conversation.history = messages
	return nil
}

// resume is the command /resume: it continues a conversation by its number in the list, or the
// newest one of the folder. If the program ended during a turn, the turn continues, too.
func (s *Session) resume(ctx context.Context, number string) error {
	findHead := s.archive.newestOfFolder
	if number != "" {
		findHead = func(ctx context.Context) (run.Head, error) { return s.archive.find(ctx, number) }
	}
	head, err := findHead(ctx)
	if err != nil {
		return err
	}
	state, err := s.archive.load(ctx, head.Key)
	if err != nil {
		return err
	}
	s.conversation.replace(head.Key.ID, state.History)
	s.results.replaceBy(state.History)
	messages := cli.Plural(len(state.History), "message")
	s.Screen.Note(screen.Faint, "continuing the conversation of %s, %s: %s%s",
		formatTime(head.Updated), messages, hosttext.Line(firstQuestion(state.History), 60), s.archive.folderNote(state))
	s.showLastTurn(state)
	if state.Status.Ended() {
		return nil
	}
	if err := s.showTurn(ctx, nil, s.conversation.resumeEvents(ctx, head.Key)); err != nil {
		return err
	}
	if state, err = s.archive.load(ctx, head.Key); err == nil {
		s.conversation.history = state.History
	}
	return err
}

// showLastTurn shows the last question, and the answer if the turn has ended.
func (s *Session) showLastTurn(state *ledger.State) {
	if i := lastQuestion(state.History); i >= 0 {
		s.Screen.Note(screen.Person, "you › %s", hosttext.Line(questionText(state.History[i]), 500))
	}
	if len(state.History) == 0 || !state.Status.Ended() {
		return
	}
	if last := state.History[len(state.History)-1]; last.Role == run.RoleAssistant {
		s.deliver(last.Text())
	}
}

// deliver shows a whole answer, if it has a text.
func (s *Session) deliver(text string) {
	if strings.TrimSpace(text) != "" {
		s.Screen.Deliver(text)
	}
}

// errElsewhere means that another program has begun a turn of the conversation.
var errElsewhere = errors.New("another program works on this conversation; " +
	"the next question begins a copy of it, and /resume continues it when it is free")

// endFailedTurn ends a turn that has no answer. The turn stays in the history with a note for the model, because tools
// may have acted. A turn of another program is not ended: this one continues with a copy of the conversation.
func (s *Session) endFailedTurn(turn context.Context, messages []run.Message, err error) error {
	isElsewhere := errors.Is(err, record.ErrHeld) || errors.Is(err, agent.ErrUnfinished)
	switch cause := context.Cause(turn); {
	case cause != nil:
		err = cause
	case isElsewhere:
		err = errElsewhere
	}
	if isElsewhere {
		s.conversation.branch(s.conversation.history)
		return s.report(err)
	}
	note := "(no answer: the turn failed)"
	if errors.Is(err, errInterrupted) {
		note = "(no answer: the user interrupted the turn)"
	}
	s.conversation.history = append(messages, run.Text(run.RoleAssistant, note))
	if !isQuit(err) { // a turn that the end of the program interrupts can be continued
		s.conversation.cancel(run.Text(run.RoleAssistant, note))
	}
	return s.report(err)
}

// report shows the error of a turn or a command, and returns the error for the caller.
func (s *Session) report(err error) error {
	switch {
	case errors.Is(err, errInterrupted):
		screen.MarkFailed(s.Screen, errInterrupted)
		s.Screen.Note(screen.Warn, "interrupted; Ctrl-C again leaves")
		return errInterrupted
	case isQuit(err):
		return err
	}
	s.fail(err)
	return ErrReported
}

// fail shows an error on one line, with what may help, and counts a failure.
func (s *Session) fail(err error) {
	s.Person.Failures.Failed.Add(1)
	if failed, ok := errors.AsType[*model.Error](err); ok {
		err = failed // without the context, which the person knows
	}
	Fail(s.Screen, fmt.Errorf("%w%s", reason.ExplainTimeout(err), s.model.urlHint(err)))
}

// Fail shows an error on one line.
func Fail(s screen.Screen, err error) {
	screen.MarkFailed(s, err)
	s.Note(screen.Fail, "error: %s", hosttext.Line(err.Error(), 2000))
}

// isQuit reports whether an error says that a signal ended the program.
func isQuit(err error) bool {
	_, ok := errors.AsType[*QuitError](err)
	return ok
}
