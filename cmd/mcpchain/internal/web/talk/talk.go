// Package talk keeps the conversations of users: each is a run of one agent, with many inputs.
//
// The records of a conversation are in the store. A window, in a browser, shows one conversation: it sends the position
// of its last event, and gets all later ones from any process. A feed keeps the latest events in memory. While this
// process works on a conversation, or a window shows it, a topic has the state that is not recorded, such as the text
// that the model is writing.
package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/rules"
	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/price"
)

// AgentName is the name of the agent of conversations in the store.
const AgentName = "web"

// leaseTTL is how long a killed process still holds its conversations.
const leaseTTL = 5 * time.Second

// heldInterval is the wait between attempts to acquire a conversation that another process
// holds.
const heldInterval = 200 * time.Millisecond

// Bounds of a user's conversations.
const (
	maxMessage = 64 << 10 // bytes of a question
	maxAtWork  = 8        // conversations of a user that this process works on
	maxRecent  = 4 << 20  // bytes of events of a conversation in memory; windows read earlier events from the store
	maxListed  = 50       // conversations in one page of the list
)

// Options configure a Service. Model and Store must be set.
type Options struct {
	Model  agent.Model
	Store  record.Store
	Tools  []adapter.Source
	System string
	Prices *price.Table
	Limits run.Limits

	// View returns the URI of the view of a server's tool, or "". ViewTools are the tools that
	// views may call. Both may be nil.
	View      func(server, tool string) string
	ViewTools adapter.Source

	Logger *slog.Logger // default: [slog.Default]

	// Shared returns what windows show about the model and the shared servers; it is encoded as JSON. Default: nothing.
	Shared func() any

	// Room returns an error that matches ErrFull if the user may not store more. begins reports whether a conversation
	// would be added. Default: there is always room.
	Room func(ctx context.Context, user string, begins bool) error

	// Personal has the tools of servers that each user signs in to. Default: all users have the same tools.
	Personal *access.Access
	Rules    *rules.Rules // default: windows show none
}

// Service runs the conversations of all users.
type Service struct {
	o         Options
	agent     *agent.Agent  // the agent of conversations, without the tools of a user
	agentOpts agent.Options // the options of agent
	viewAgent *agent.Agent  // makes the calls of views
	feed      *eventfeed.Feed

	ctx     context.Context // for the work; ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex             // guards the following fields
	topics map[run.Key]*topic     // in use
	atWork map[string]int         // by user, number of conversations that this process works on
	lists  map[string]*listSignal // by user, in use
	titles map[run.Key]string     // at most maxTitles
}

// The errors of actions of a user.
var (
	ErrBusy    = errors.New("the conversation is at work: stop it, or wait for its answer")
	ErrWaiting = errors.New("the conversation waits for your answers")
	ErrTooMany = errors.New("too many of your conversations are at work")
	ErrFull    = errors.New("there is no room")
	ErrUnfit   = errors.New("not accepted")
	ErrGone    = errors.New("there is no such conversation, question or view")

	// ErrElsewhere is the error for a conversation that another process works on.
	ErrElsewhere = errors.New("another process of this program works on the conversation: stop it there, or try again when it has ended")
)

// New returns a service, which the caller closes. It also continues conversations that another process has left
// unfinished.
func New(o Options) (*Service, error) {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	s := &Service{
		o: o, topics: map[run.Key]*topic{}, atWork: map[string]int{}, lists: map[string]*listSignal{}, titles: map[run.Key]string{},
	}
	s.feed = eventfeed.New(&eventfeed.Options{Items: s.items, RunBytes: maxRecent})
	s.agentOpts = agent.Options{
		Name:    AgentName,
		System:  o.System,
		Tools:   o.Tools,
		Model:   agent.ModelSettings{Prices: o.Prices},
		Limits:  o.Limits,
		Durable: agent.Durable{Store: o.Store, LeaseTTL: leaseTTL, AskInDoubt: true},
		Person:  agent.Person{Approve: agent.AskPerson, Reply: s.replyAtWindow},
	}
	var err error
	if s.agent, err = agent.New(o.Model, &s.agentOpts); err != nil {
		return nil, err
	}
	if s.viewAgent, err = newViewAgent(o, s.replyAtWindow); err != nil {
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.recover)
	return s, nil
}

// agentFor returns an agent with the tools of a user. An agent holds no state of runs.
func (s *Service) agentFor(user string) *agent.Agent {
	if s.o.Personal == nil {
		return s.agent
	}
	opts := s.agentOpts
	opts.Tools = append(slices.Clone(opts.Tools), s.o.Personal.Sources(user)...)
	a, err := agent.New(s.o.Model, &opts)
	if err != nil { // New has checked the other options
		s.o.Logger.Error("the tools of a user cannot be used", "error", err)
		return s.agent
	}
	return a
}

// Close stops the work and waits for it. Unfinished runs continue in the next process. Windows are
// not closed: the contexts of Watch end them.
func (s *Service) Close() {
	s.stop()
	s.running.Wait()
}

// Begin starts a conversation with a question, and returns its id. The error matches ErrUnfit for a text that is blank
// or above 64 KiB, ErrFull if there is no room, or ErrTooMany if eight conversations of the user are at work.
func (s *Service) Begin(ctx context.Context, user, text string) (string, error) {
	return s.begin(ctx, user, run.Text(run.RoleUser, text))
}

// begin starts a conversation with messages. The last one is the question.
func (s *Service) begin(ctx context.Context, user string, messages ...run.Message) (string, error) {
	return s.submit(ctx, user, "", messages[len(messages)-1].Text(), func() (string, error) {
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
	_, err := s.submit(ctx, user, id, text, func() (string, error) {
		key := run.Key{Tenant: user, ID: id}
		if isViewCall(key) {
			return "", ErrGone
		}
		return id, s.beginTurn(ctx, key, append(slices.Clip(before), text))
	})
	return err
}

// submit calls begin, which records the question text in a conversation, if the user may ask now, and starts to work on
// the conversation. id is "" for a new conversation; begin returns its id.
func (s *Service) submit(ctx context.Context, user, id, text string, begin func() (id string, err error)) (string, error) {
	if err := s.reserveWork(ctx, user, id, text); err != nil {
		return "", err
	}
	id, err := begin()
	if key := (run.Key{Tenant: user, ID: id}); err != nil || !s.startUncounted(key) {
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
		input = []run.Message{run.Text(run.RoleAssistant, earlyEnd(state.Output))}
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
func earlyEnd(written string) string {
	if written == "" {
		return "(no answer: the turn ended early)"
	}
	return written + "\n\n(the user stopped the answer here)"
}

// reserveWork returns an error if the user may not ask now. Otherwise it counts the conversation, which
// is new if the id is "", as at work until the work ends.
func (s *Service) reserveWork(ctx context.Context, user, id, text string) error {
	if strings.TrimSpace(text) == "" || len(text) > maxMessage {
		return fmt.Errorf("%w: a question has text, of at most %d bytes", ErrUnfit, maxMessage)
	}
	if s.o.Room != nil {
		if err := s.o.Room(ctx, user, id == ""); err != nil {
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

// recordAt returns the index of a record by its number, -1 if there is none. The log of a run that
// was pruned has no early records.
func recordAt(log *record.Log, seq uint64) int {
	return slices.IndexFunc(log.Records, func(r run.Record) bool { return r.Seq == seq })
}

// lastInput returns the number of the record that began the present turn, 0 if it was pruned.
func lastInput(log *record.Log) uint64 {
	for _, r := range slices.Backward(log.Records) {
		if inputOf(ledger.ChangeOf(r)) != nil {
			return r.Seq
		}
	}
	return 0
}

// inputOf returns the messages that a record adds as input, nil if it adds none.
func inputOf(c ledger.Change) []run.Message {
	switch c := c.(type) {
	case *ledger.Begun:
		return c.Messages
	case *ledger.Said:
		return c.Messages
	}
	return nil
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
		at := lastInput(log)
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

// load returns the state of a run. The error is ErrGone if there is none.
func (s *Service) load(ctx context.Context, key run.Key) (*ledger.State, error) {
	state, err := database.LoadState(ctx, s.o.Store, key)
	return state, goneError(err)
}

// goneError turns the error for a missing run into ErrGone.
func goneError(err error) error {
	if errors.Is(err, record.ErrNotFound) {
		return ErrGone
	}
	return err
}
