package talk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

const (
	agentName = "chatbot"

	leaseTTL    = 5 * time.Second // how long a killed program holds its conversation
	cancelWait  = 5 * time.Second // for the store to cancel a turn
	maxListed   = 20              // conversations in a list
	maxSearched = 100             // conversations that are searched for one of the folder
	folderVar   = "folder"        // variable of a run with the folder of the conversation
)

// formatTime formats a time for a list, in the person's time zone.
func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// newName returns a new name for a conversation, which begins with the current time.
func newName() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().Format("20060102-150405-") + hex.EncodeToString(random[:])
}

// runTurn runs the agent with a question. The whole conversation is one run with many inputs.
func (s *Session) runTurn(ctx context.Context, message run.Message) iter.Seq2[agent.Event, error] {
	input := append(slices.Clip(s.pendingMessages), message)
	s.pendingMessages = nil
	folder, _ := json.Marshal(s.Folder) // cannot fail: it is a string
	return s.agent.Events(ctx, agent.Messages(input...), agent.WithRun(s.name), agent.WithVar(folderVar, folder))
}

// startFolder returns the folder in which a conversation began, "" if it is not known.
func startFolder(state *ledger.State) (folder string) {
	if json.Unmarshal(state.Vars[folderVar], &folder) != nil {
		return ""
	}
	return folder
}

// branch starts a new conversation with a history, which its first question takes to the agent.
func (s *Session) branch(history []run.Message) {
	s.name = newName()
	s.history, s.pendingMessages = history, history
	if len(history) == 0 {
		s.forgetUsage()
	}
}

// cancelTurn cancels the run of a turn that has no answer, so that it accepts another question.
// note precedes that question. If there is no run yet, or it cannot be cancelled, the conversation
// continues under a new name.
func (s *Session) cancelTurn(note run.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelWait)
	defer cancel()
	if _, err := s.agent.Cancel(ctx, run.Key{ID: s.name}); err != nil {
		s.branch(s.history)
		return
	}
	s.pendingMessages = []run.Message{note}
}

// undo is the command /undo: it removes the last question and all that followed. The rest is a new
// conversation; the old one stays in the store.
func (s *Session) undo(context.Context, string) error {
	for i := len(s.history) - 1; i >= 0; i-- {
		if s.history[i].Role == run.RoleUser {
			s.Screen.Note(screen.Faint, "forgotten: %s", hosttext.Line(questionText(s.history[i]), 200))
			s.branch(s.history[:i:i])
			return nil
		}
	}
	return errors.New("there is no question to forget")
}

// newestHeads returns the heads of the newest conversations that this version can read.
func (s *Session) newestHeads(ctx context.Context, limit int) (heads []run.Head, err error) {
	list := s.Store.List(ctx, record.Query{Agents: []string{agentName}, Limit: limit})
	for head, err := range record.SkipDamaged(list, nil) {
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// listConversations is the command /conversations.
func (s *Session) listConversations(ctx context.Context, _ string) error {
	heads, err := s.newestHeads(ctx, maxListed)
	if err != nil {
		return err
	}
	s.listedHeads.Store(&heads)
	for i, head := range heads {
		about := "(cannot be read)"
		if state, err := s.load(ctx, head.Key); err == nil {
			about = hosttext.Line(firstQuestion(state.History), 60) + s.folderNote(state)
		}
		waits := ""
		if !head.Status.Ended() {
			waits = ", waits to be continued"
		}
		s.Screen.List(screen.Tool, "%2d  %s%s  %s", i+1, formatTime(head.Updated), waits, about)
	}
	if len(heads) == 0 {
		s.Screen.List(screen.Faint, "there are no conversations")
	}
	return nil
}

// folderNote tells in which folder a conversation began.
func (s *Session) folderNote(state *ledger.State) string {
	switch folder := startFolder(state); folder {
	case "":
		return ""
	case s.Folder:
		return " (in this folder)"
	default:
		return " (in " + hosttext.Line(folder, 200) + ")"
	}
}

// newestOfFolder returns the newest conversation of this folder.
func (s *Session) newestOfFolder(ctx context.Context) (run.Head, error) {
	heads, err := s.newestHeads(ctx, maxSearched)
	if err != nil {
		return run.Head{}, err
	}
	for _, head := range heads {
		state, err := s.load(ctx, head.Key)
		switch {
		case ctx.Err() != nil:
			return head, context.Cause(ctx)
		case err == nil && startFolder(state) == s.Folder: // what cannot be read is skipped
			return head, nil
		}
	}
	return run.Head{}, errors.New("no conversation of this folder to continue; " +
		"/conversations lists all, and /resume N continues one")
}

// numberedHeads returns the conversations whose numbers the person knows: the last list, or else
// the newest ones.
func (s *Session) numberedHeads(ctx context.Context) ([]run.Head, error) {
	if heads := s.listedHeads.Load(); heads != nil && *heads != nil {
		return *heads, nil
	}
	return s.newestHeads(ctx, maxListed)
}

// findConversation returns a conversation by its number in the last list.
func (s *Session) findConversation(ctx context.Context, number string) (run.Head, error) {
	heads, err := s.numberedHeads(ctx)
	if err != nil {
		return run.Head{}, err
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(heads) {
		return run.Head{}, fmt.Errorf("no conversation %s; /conversations lists them", hosttext.Line(number, 40))
	}
	return heads[n-1], nil
}

// firstQuestion returns the first question of a conversation, by which a list describes it.
func firstQuestion(history []run.Message) string {
	for _, m := range history {
		if m.Role == run.RoleUser {
			return questionText(m)
		}
	}
	return "(no question)"
}

// load returns the state of a stored conversation.
func (s *Session) load(ctx context.Context, key run.Key) (*ledger.State, error) {
	return database.LoadState(ctx, s.Store, key)
}

// resume is the command /resume: it continues a conversation by its number in the list, or the
// newest one of the folder. If the program ended during a turn, the turn continues, too.
func (s *Session) resume(ctx context.Context, number string) error {
	find := s.newestOfFolder
	if number != "" {
		find = func(ctx context.Context) (run.Head, error) { return s.findConversation(ctx, number) }
	}
	head, err := find(ctx)
	if err != nil {
		return err
	}
	state, err := s.load(ctx, head.Key)
	if err != nil {
		return err
	}
	s.name = head.Key.ID
	s.history, s.pendingMessages = state.History, nil
	s.forgetUsage()
	s.recallResults(state.History)
	messages := screen.Plural(len(state.History), "message")
	s.Screen.Note(screen.Faint, "continuing the conversation of %s, %s: %s%s",
		formatTime(head.Updated), messages, hosttext.Line(firstQuestion(state.History), 60), s.folderNote(state))
	s.showLastTurn(state)
	if state.Status.Ended() {
		return nil
	}
	s.turnCount++
	if err := s.showTurn(ctx, nil, s.resumeTurn(ctx, head.Key)); err != nil {
		return err
	}
	if state, err = s.load(ctx, head.Key); err == nil {
		s.history = state.History
	}
	return err
}

// showLastTurn shows the last question, and the answer if the turn has ended.
func (s *Session) showLastTurn(state *ledger.State) {
	for _, m := range slices.Backward(state.History) {
		if m.Role == run.RoleUser {
			s.Screen.Note(screen.Person, "you › %s", hosttext.Line(questionText(m), 500))
			break
		}
	}
	if len(state.History) == 0 || !state.Status.Ended() {
		return
	}
	last := state.History[len(state.History)-1]
	if text := last.Text(); last.Role == run.RoleAssistant && strings.TrimSpace(text) != "" {
		s.Screen.Deliver(text)
	}
}

// resumeTurn continues a turn, and yields its events. It waits at most 2*leaseTTL for the lease of
// a program that was killed: a program that is alive renews its lease.
func (s *Session) resumeTurn(ctx context.Context, key run.Key) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for start := time.Now(); ; {
			held := false
			for e, err := range s.agent.ResumeEvents(ctx, key) {
				if errors.Is(err, record.ErrHeld) && time.Since(start) < 2*leaseTTL {
					held = true
					break
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
			if !held {
				return
			}
			s.Screen.Progress("waiting for the program that had the conversation …")
			select {
			case <-time.After(leaseTTL / 10):
			case <-ctx.Done():
				yield(nil, record.ErrHeld) // the turn is not this program's, and not to be cancelled
				return
			}
		}
	}
}
