package service

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// service has the parts of the program.
type service struct {
	agent       *agent.Agent
	store       sqlstore.Store
	db          *database.DB
	feed        *eventfeed.Feed
	engine      engine
	servers     func() []adapter.ServerStatus // nil with the role front: workers have the servers
	watch       *hosting.Watch                // pings the servers; nil with the role front
	users       *tokens.Table
	reloadUsers func() (users int, err error) // from the file of -users; nil for demo users
	limits      *limits
	proxies     bounded.Addresses // whose connections carry requests of many users
	kept        time.Duration     // how long ended runs are kept
	logger      *slog.Logger

	closing    context.Context // ended by endStreams, which ends the event streams
	endStreams context.CancelFunc
	closers    []func() // in the order of creation
}

// close closes the parts, the latest first.
func (s *service) close() {
	for _, end := range slices.Backward(s.closers) {
		end()
	}
}

// assemble creates the parts that the options ask for. The caller closes the service.
func assemble(ctx context.Context, o *options, logger *slog.Logger) (_ *service, err error) {
	s := &service{logger: logger, kept: o.kept, limits: newLimits(o), proxies: o.Proxies}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.users = tokens.New(demo)
	if o.Users != "" {
		if s.users, err = tokens.Read(o.Users); err != nil {
			return nil, &cli.FileError{Err: fmt.Errorf("-users: %w", err)}
		}
		s.reloadUsers = s.users.Reload
	}
	if err := s.open(ctx, o); err != nil {
		return nil, err
	}
	model, err := hosting.OpenModel(ctx, o.model, true, logger)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = model.Close() })
	var tools []adapter.Source
	if o.role != front {
		toolset, err := s.openTools(ctx, o)
		if err != nil {
			return nil, err
		}
		tools, s.servers = append(tools, toolset), toolset.Servers
		watch, stop := hosting.NewWatch(toolset.Servers, logger, func() {})
		s.watch, s.closers = watch, append(s.closers, stop)
	}
	return s, s.createEngine(ctx, o, model.LLM, tools)
}

// open opens the database of runs.
func (s *service) open(ctx context.Context, o *options) error {
	db, err := database.Open(ctx, o.store)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = db.Close() })
	s.db, s.store = db, db.Runs
	return nil
}

// Bounds of a run.
const (
	askTTL    = 7 * 24 * time.Hour // how long a question stays open
	maxTokens = 500_000
)

// createEngine creates the agent, the feed and the engine.
func (s *service) createEngine(ctx context.Context, o *options, model agent.Model, tools []adapter.Source) (err error) {
	s.agent, err = agent.New(model, &agent.Options{
		Name:    "service",
		Tools:   tools,
		Durable: agent.Durable{Store: s.store, LeaseTTL: o.lease},
		Person:  agent.Person{QuestionTTL: askTTL, Approve: agent.AskPerson},
		Limits:  run.Limits{Tokens: maxTokens},
		Model:   agent.ModelSettings{Retries: -1}, // the model retries by itself
	})
	if err != nil {
		return err
	}
	s.closing, s.endStreams = context.WithCancel(context.Background())
	s.closers = append(s.closers, s.endStreams)
	s.feed = eventfeed.New(&eventfeed.Options{
		Replay:      s.agent.Replay,
		Head:        s.head,
		Poll:        pollInterval,
		Readers:     o.connections,
		TotalBytes:  o.memory,
		HandleError: s.fail,
	})
	if o.temporal != "" {
		return s.createRemote(ctx, o)
	}
	s.engine = &local{ // this process drives runs, together with others that share the database
		agent:    s.agent,
		store:    s.store,
		feed:     s.feed,
		parallel: o.parallel,
		perUser:  o.running,
		grace:    o.grace,
		logger:   s.logger,
		wake:     make(chan struct{}, 1),
		working:  map[run.Key]*activeRun{},
	}
	return nil
}

// createRemote creates the engine that has Temporal drive runs.
func (s *service) createRemote(ctx context.Context, o *options) error {
	service, err := client.Dial(client.Options{HostPort: o.temporal, Namespace: o.namespace, Logger: s.logger})
	if err != nil {
		return fmt.Errorf("reach Temporal: %w", err)
	}
	s.closers = append(s.closers, service.Close)
	if o.attributes {
		if err := temporal.AddSearchAttributes(ctx, service, o.namespace); err != nil {
			return err
		}
	}
	s.engine = newRemote(service, s.agent, s.store, o, s.logger)
	return nil
}

// pollInterval is how often event streams read the store for changes by other processes.
const pollInterval = time.Second

// head returns the head of a run, as [database.Head] does.
func (s *service) head(ctx context.Context, key run.Key) (run.Head, error) {
	return database.Head(ctx, s.store, key)
}

// work drives runs and deletes old ones until the context ends.
func (s *service) work(ctx context.Context) error {
	defer hosting.Tidy(s.store, s.kept, s.logger)()
	return s.engine.work(ctx)
}

// serve serves HTTP and drives runs until the context ends. Runs in progress continue in another process, or the next
// one. Calls that have not ended after -grace are interrupted, and then in doubt.
func (s *service) serve(ctx context.Context, listener net.Listener, connections int) error {
	server := &hosting.Server{
		Handler:     s.routes(),
		Connections: connections,
		Proxies:     s.proxies,
		HeaderBytes: 16 << 10,
		Logger:      s.logger,
		LogLevel:    slog.LevelDebug,
	}
	both, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, s.endStreams)()
	both.Go(func() error { return server.Serve(ctx, listener) })
	both.Go(func() error { return workError(s.work(ctx)) })
	return both.Wait()
}

// openTools connects to the servers of a file, or to the demo servers. It logs the servers that cannot be used, and
// fails if none of a file can be used.
func (s *service) openTools(ctx context.Context, o *options) (*adapter.Toolset, error) {
	entries, err := hosting.ReadEntries(ctx, o.config, &o.Hosting, false)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = entries.Close() })
	opts := &adapter.Options{
		Policy: adapter.Policy{
			Start:          adapter.StartAvailable,
			ConnectTimeout: o.timeouts.Connect,
			IdleTimeout:    o.timeouts.Idle,
			CallTimeout:    o.timeouts.Call,
		},
		OpenWait:      hosting.Patience,
		User:          hosting.User,
		Logger:        s.logger,
		ClientOptions: &mcpclient.Options{Logger: s.logger},
		ListDir:       cli.Place("service-tools"),
	}
	toolset, err := adapter.Open(ctx, entries.Shared, opts)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() { _ = toolset.Close() })
	return toolset, hosting.Report(s.logger, o.config, toolset.Servers(), entries.Wrong)
}
