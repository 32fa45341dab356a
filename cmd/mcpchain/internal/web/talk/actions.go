package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Begin starts a conversation with a question, and returns its id. The error matches ErrUnfit for a text that is blank
// or above 64 KiB, ErrFull if there is no room, or ErrTooMany if eight conversations of the user are at work.
func (s *Service) Begin(ctx context.Context, user, text string) (string, error) {
	return s.begin(ctx, user, run.Text(run.RoleUser, text))
}

// begin starts a conversation with messages. The last one is the question.
func (s *Service) begin(ctx context.Context, user string, messages ...run.Message) (string, error) {
	if err := checkQuestion(messages[len(messages)-1].Text()); err != nil {
		return "", err
	}
	return s.submit(ctx, user, "", func() (string, error) {
		key, err := s.agent.Begin(ctx, messages, agent.WithTenant(user))
		if err != nil {
			return "", fmt.Errorf("begin a conversation: %w", err)
		}
		return key.ID, nil
	})
}

// Say asks another question in a conversation. before are texts of the program that the model reads before it. The
// error matches ErrBusy, ErrWaiting or ErrElsewhere if the previous turn has not ended, ErrGone if there is no such
// conversation, or an error of Begin.
func (s *Service) Say(ctx context.Context, user, id, text string, before ...string) error {
	if err := checkQuestion(text); err != nil {
		return err
	}
	key := run.Key{Tenant: user, ID: id}
	return s.continueWith(ctx, key, func() error { return s.beginTurn(ctx, key, append(slices.Clip(before), text)) })
}

// checkQuestion returns an ErrUnfit for a text that is not a question.
func checkQuestion(text string) error {
	if strings.TrimSpace(text) == "" || len(text) > maxMessage {
		return fmt.Errorf("%w: a question has text, of at most %d bytes", ErrUnfit, maxMessage)
	}
	return nil
}

// Retry continues a turn that has failed: the model is asked again, with the results of the calls that were made, so no
// call is repeated. The error matches ErrUnfit if the turn has not failed, or is an error of Say.
func (s *Service) Retry(ctx context.Context, user, id string) error {
	key := run.Key{Tenant: user, ID: id}
	return s.continueWith(ctx, key, func() error {
		if err := s.checkFailed(ctx, key); err != nil {
			return err
		}
		err := s.retryWhileHeld(ctx, func() error { return record.Revive(ctx, s.o.Store, key) })
		if err == nil {
			return nil
		}
		return cmp.Or(s.checkFailed(ctx, key), err) // another window may have been faster
	})
}

// checkFailed returns an error of Retry if a turn has not failed.
func (s *Service) checkFailed(ctx context.Context, key run.Key) error {
	state, err := s.load(ctx, key)
	switch {
	case err != nil:
		return err
	case state.Status == run.StatusWaiting:
		return ErrWaiting
	case !state.Status.Ended():
		return ErrBusy
	case state.Status != run.StatusFailed:
		return fmt.Errorf("%w: the turn has not failed", ErrUnfit)
	}
	return nil
}

// continueWith is submit for a stored conversation. The error matches ErrGone if the run is a call of a view.
func (s *Service) continueWith(ctx context.Context, key run.Key, begin func() error) error {
	_, err := s.submit(ctx, key.Tenant, key.ID, func() (string, error) {
		if isViewCall(key) {
			return "", ErrGone
		}
		return key.ID, begin()
	})
	return err
}

// submit calls begin, which begins a turn of a conversation, if the user may have one now, and starts to work on it. id
// is "" for a new conversation; begin returns its id.
func (s *Service) submit(ctx context.Context, user, id string, begin func() (id string, err error)) (string, error) {
	if err := s.reserveWork(ctx, user, id == ""); err != nil {
		return "", err
	}
	id, err := begin()
	key := run.Key{Tenant: user, ID: id}
	if err != nil || !s.startUncounted(key) {
		s.countWork(key, -1)
	}
	if err == nil {
		s.Changed(user)
	}
	return id, err
}

// beginTurn records another question of a conversation: the last of texts. Those before it are texts of the program.
func (s *Service) beginTurn(ctx context.Context, key run.Key, texts []string) error {
	state, err := s.load(ctx, key)
	if err != nil {
		return err
	}
	var input []run.Message
	if state.Status == run.StatusCancelled || state.Status == run.StatusFailed {
		input = []run.Message{run.Text(run.RoleAssistant, earlyEnd(state))}
	}
	for _, text := range texts {
		input = append(input, agent.Text(text)...)
	}
	begin := func() error {
		_, err := s.agent.Begin(ctx, input, agent.WithRun(key.ID), agent.WithTenant(key.Tenant))
		return err
	}
	if state.Status.Ended() { // this process may still hold it for a moment
		err = s.retryWhileHeld(ctx, begin)
	} else {
		err = begin()
	}
	switch {
	case errors.Is(err, ErrElsewhere):
		return err
	case errors.Is(err, agent.ErrWaiting):
		return ErrWaiting
	case errors.Is(err, agent.ErrUnfinished), errors.Is(err, record.ErrHeld):
		return ErrBusy
	case err != nil:
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// earlyEnd returns what the model reads as its answer in a turn that ended early: what it had written, and a note.
func earlyEnd(s *ledger.State) string {
	switch {
	case s.Output == "":
		return "(no answer: the turn ended early)"
	case s.Status == run.StatusFailed:
		return s.Output + "\n\n(the answer broke off here)"
	}
	return s.Output + "\n\n(the user stopped the answer here)"
}

// reserveWork returns an error if the user may not have a turn now. Otherwise it counts its conversation, which may be
// new, as at work until the work ends.
func (s *Service) reserveWork(ctx context.Context, user string, isNew bool) error {
	if s.o.Room != nil {
		if err := s.o.Room(ctx, user, isNew); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.atWork[user] >= maxAtWork {
		return ErrTooMany
	}
	s.atWork[user]++
	return nil
}

// Edit replaces a question: it starts a new conversation with the messages before the question and the new text, and
// returns its id. The old question is message index of record seq. The error matches ErrGone if that is not a question,
// or an error of Begin.
func (s *Service) Edit(ctx context.Context, user, id string, seq uint64, index int, text string) (string, error) {
	log, err := s.o.Store.Load(ctx, run.Key{Tenant: user, ID: id})
	if err != nil {
		return "", goneError(err)
	}
	at := recordAt(log, seq)
	if at < 0 {
		return "", ErrGone
	}
	var before []run.Message
	if at > 0 {
		result, err := agent.ResultOf(log.Records[:at])
		if err != nil {
			return "", err
		}
		before = result.Messages
	}
	input := inputOf(ledger.ChangeOf(log.Records[at]))
	if index < 0 || index >= len(input) || input[index].Role != run.RoleUser {
		return "", ErrGone
	}
	question := run.Text(run.RoleUser, text)
	return s.begin(ctx, user, slices.Concat(before, input[:index], []run.Message{question})...)
}

// Stop cancels the turn of a conversation and the calls of its views. What the model has written of its answer stays. A
// turn that has ended stays as it is. The error matches ErrElsewhere if another process does not release the
// conversation, or ErrGone if there is no such conversation.
func (s *Service) Stop(ctx context.Context, user, id string) error {
	key := run.Key{Tenant: user, ID: id}
	t, err := s.acquire(ctx, key)
	if err != nil {
		return err
	}
	defer s.release(t)
	t.mu.Lock()
	interrupt := t.cancel // read now: a later turn has another one
	t.mu.Unlock()
	if err := s.cancel(ctx, key); err != nil { // first: this keeps what the model has written
		return err
	}
	if interrupt != nil {
		interrupt(errStopped) // ends the rest of the work, such as connecting to servers
	}
	s.Changed(user)
	_, err = s.catchUp(ctx, t)
	return errors.Join(err, s.stopViews(ctx, key))
}

// cancel cancels the present turn of a run, also one that this process drives or a killed process holds. It does not
// cancel a turn that begins meanwhile.
func (s *Service) cancel(ctx context.Context, key run.Key) error {
	turn := uint64(0)
	return s.retryWhileHeld(ctx, func() error {
		log, err := s.o.Store.Load(ctx, key)
		if err != nil {
			return goneError(err)
		}
		at := turnStart(log)
		if turn > 0 && at != turn {
			return nil
		}
		turn = at
		if _, err := s.agentOf(key).Cancel(ctx, key); err != nil {
			return goneError(fmt.Errorf("stop: %w", err))
		}
		return nil
	})
}

// heldInterval is the wait between attempts to acquire a conversation that another process holds.
const heldInterval = 200 * time.Millisecond

// retryWhileHeld calls do again while a process holds the run. A killed process holds a run until its lease ends:
// retryWhileHeld waits a second longer, and then returns ErrElsewhere.
func (s *Service) retryWhileHeld(ctx context.Context, do func() error) error {
	for end := time.Now().Add(leaseTTL + time.Second); ; {
		err := do()
		if !errors.Is(err, record.ErrHeld) {
			return err
		}
		if time.Now().After(end) {
			return ErrElsewhere
		}
		if err := backoff.Sleep(ctx, heldInterval); err != nil {
			return err
		}
	}
}

// Delete stops a conversation, and deletes it after the calls of its views. The errors are those of Stop and of the
// store. After an error it can be called again.
func (s *Service) Delete(ctx context.Context, user, id string) error {
	if err := s.Stop(ctx, user, id); err != nil {
		return err
	}
	key := run.Key{Tenant: user, ID: id}
	if err := s.deleteViews(ctx, key); err != nil {
		return err
	}
	if err := s.o.Store.Delete(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.titles, key)
	t := s.topics[key]
	s.mu.Unlock()
	if t != nil {
		t.endWindows()
	}
	s.Changed(user)
	return nil
}
