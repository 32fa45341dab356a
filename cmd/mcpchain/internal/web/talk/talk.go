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
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/rules"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/price"
)

// AgentName is the name of the agent of conversations in the store.
const AgentName = "web"

// leaseTTL is how long a killed process still holds its conversations.
const leaseTTL = 5 * time.Second

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
		Durable: agent.Durable{Store: loadedStore{o.Store}, LeaseTTL: leaseTTL, AskInDoubt: true},
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
