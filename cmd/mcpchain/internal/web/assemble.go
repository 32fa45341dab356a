package web

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/rules"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/signin"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// app is the program without its listener.
type app struct {
	handler     http.Handler
	views       *views                        // nil without views
	reloadUsers func() (users int, err error) // from the file of -users; nil without one
	closers     []func() error                // called in reverse order
}

// onClose has close called when the program ends.
func (a *app) onClose(close func() error) { a.closers = append(a.closers, close) }

// close closes the parts, the latest first, also after an error.
func (a *app) close() (err error) {
	for _, closePart := range slices.Backward(a.closers) {
		err = errors.Join(err, closePart())
	}
	return err
}

// parts are what conversations need.
type parts struct {
	db        *database.DB
	users     site.SignIn
	model     *hosting.Model
	prices    *price.Table
	decisions *rules.Rules
	changes   *changes
	personal  *access.Access // the servers to which each user signs in
	servers   *servers
}

// assemble creates the parts of the program. The caller closes the app.
func assemble(ctx context.Context, o *options, address net.Addr) (_ *app, err error) {
	a := &app{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	p, err := a.open(ctx, o, address)
	if err != nil {
		return nil, err
	}
	service, err := a.newTalk(o, p)
	if err != nil {
		return nil, err
	}
	a.handler = a.site(o, address, p, service)
	return a, nil
}

// open opens the parts that conversations need, each after those that it depends on.
func (a *app) open(ctx context.Context, o *options, address net.Addr) (p *parts, err error) {
	p = &parts{prices: o.model.Prices, changes: &changes{logger: o.logger}}
	if p.db, err = database.Open(ctx, o.store); err != nil {
		return nil, err
	}
	a.onClose(p.db.Close)
	if o.kept > 0 {
		stop := hosting.Tidy(p.db.Runs, o.kept, o.logger)
		a.onClose(func() error { stop(); return nil })
	}
	if p.users, err = a.signIn(ctx, o, p.db.DB); err != nil {
		return nil, err
	}
	if p.model, err = hosting.OpenModel(ctx, o.model, false, o.logger); err != nil {
		return nil, err
	}
	a.onClose(p.model.Close)
	if o.model.Model.Name == "" {
		p.prices = demoPrices
	}
	tools, err := toolOptions(o, p.model.Model, p.prices)
	if err != nil {
		return nil, err
	}
	p.decisions = rules.New(p.changes.ofUser)
	tools.Decisions = p.decisions
	if a.views, err = a.sandbox(o, address); err != nil {
		return nil, err
	}
	if p.personal, err = a.personal(o, address, tools, p.changes); err != nil {
		return nil, err
	}
	p.servers, err = a.connect(ctx, o, tools, p)
	return p, err
}

// newTalk returns the service of conversations. From then on, windows get changes.
func (a *app) newTalk(o *options, p *parts) (*talk.Service, error) {
	opts := talk.Options{
		Model:    p.model.LLM,
		Store:    p.db.Runs,
		Tools:    []adapter.Source{p.servers.tools},
		Personal: p.personal,
		Rules:    p.decisions,
		Prices:   p.prices,
		System:   "You help the user with the tools that you have. Answer in Markdown.",
		Limits:   run.Limits{Tokens: int64(o.tokens)},
		Shared:   func() any { return p.servers.panel(p.model.Name, o.config) },
		Room:     func(ctx context.Context, user string, begins bool) error { return o.room(ctx, p.db, user, begins) },
		Logger:   o.logger,
	}
	if a.views != nil {
		opts.View = viewOf(p.servers.tools)
		opts.ViewTools = p.servers.tools.ViewTools()
	}
	service, err := talk.New(opts)
	if err != nil {
		return nil, err
	}
	p.changes.service.Store(service)
	a.onClose(func() error { service.Close(); return nil })
	return service, nil
}

// site returns the handler of the page.
func (a *app) site(o *options, address net.Addr, p *parts, service *talk.Service) http.Handler {
	opts := site.Options{
		Talk:          service,
		SignIn:        p.users,
		Rules:         p.decisions,
		Access:        p.personal,
		Hosts:         o.allowedHosts(address),
		Secure:        o.isSecure(),
		Canonical:     o.canonical(address),
		AddressHeader: o.addressHeader,
		Proxies:       o.Proxies,
		Health:        func(ctx context.Context) error { return hosting.CheckStore(ctx, p.db.Runs) },
		Limits:        site.Limits{PerMinute: o.rate},
		Logger:        o.logger,
	}
	if a.views != nil {
		opts.Views = viewing.New(viewing.Options{Talk: service, Tools: p.servers.tools, Sandbox: a.views.sandbox, Logger: o.logger})
		a.onClose(func() error { opts.Views.Close(); return nil })
		opts.FrameOrigin = a.views.origin
	}
	return site.New(opts)
}

// changes tells windows about changes. It drops changes before there is a service, because nobody watches yet.
type changes struct {
	service atomic.Pointer[talk.Service]
	logger  *slog.Logger
}

// ofUser tells the windows of a user.
func (c *changes) ofUser(user string) {
	if s := c.service.Load(); s != nil {
		s.Changed(user)
	}
}

// ofServers tells all windows about the shared servers.
func (c *changes) ofServers() {
	if s := c.service.Load(); s != nil {
		s.ChangedAll()
	}
}

// ofAccess tells the windows of a user that the user has signed in to a server or out, or could not sign in. After a
// sign-in, the calls that wait for it continue.
func (c *changes) ofAccess(ctx context.Context, user, server string, signedIn bool) {
	c.ofUser(user)
	s := c.service.Load()
	if s == nil || !signedIn {
		return
	}
	if err := s.SignedIn(ctx, user, server); err != nil && ctx.Err() == nil {
		c.logger.Error("calls that wait for a sign-in do not continue", "server", server, "error", err)
	}
}

// signIn returns the sign-in for people.
func (a *app) signIn(ctx context.Context, o *options, db *sql.DB) (site.SignIn, error) {
	if o.userFrom != "" {
		return &signin.Proxy{Header: o.userFrom, Trusted: o.Proxies}, nil
	}
	users := signin.Users{Names: o.demoUsers}
	if o.Users != "" {
		table, err := tokens.Read(o.Users)
		if err != nil {
			return nil, &cli.FileError{Err: fmt.Errorf("-users: %w", err)}
		}
		users, a.reloadUsers = signin.Users{Tokens: table}, table.Reload
	}
	return signin.New(ctx, db, users, o.isSecure())
}

// personal returns the place of the servers to which each user signs in, still without servers. Tokens are in files
// beside the database that only the program's own user may read.
func (a *app) personal(o *options, address net.Addr, tools *adapter.Options, c *changes) (*access.Access, error) {
	store, err := oauth.NewFileStore(filepath.Join(filepath.Dir(o.store), "tokens"))
	if err != nil {
		return nil, err
	}
	personal := access.New(access.Options{
		Store:    store,
		Tools:    tools,
		Logger:   o.logger,
		Changed:  c.ofAccess,
		Callback: o.base(address) + site.CallbackPath,
	})
	a.onClose(personal.Close)
	return personal, nil
}

// toolOptions returns the options of all connections, both shared ones and users' own.
func toolOptions(o *options, model models.Model, prices *price.Table) (*adapter.Options, error) {
	opts := &adapter.Options{
		ClientOptions: &mcpclient.Options{Logger: o.logger}, User: hosting.User, Logger: o.logger,
		Policy: adapter.Policy{ConnectTimeout: o.timeouts.Connect, IdleTimeout: o.timeouts.Idle, CallTimeout: o.timeouts.Call},
	}
	if model.API == models.Messages {
		return opts, nil // servers cannot use the model
	}
	sampler, err := model.Sampler(sampling.Options{Review: sampling.AskLater(), Prices: prices})
	if err != nil {
		return nil, err
	}
	opts.ClientOptions.Sampling = sampler
	return opts, nil
}

// demoPrices are invented prices of the demo model, so that the page shows costs.
var demoPrices = &price.Table{
	Date:   "2026-11-01",
	Models: []price.Price{{Model: tryout.ModelName, Currency: "USD", Input: 250_000, Output: 2_000_000}},
}

// room implements talk.Options.Room. A user who stores less than both bounds may begin or continue one more conversation.
func (o *options) room(ctx context.Context, db *database.DB, user string, begins bool) error {
	conversations, err := db.Runs.Count(ctx, record.Query{Tenant: user, Agents: []string{talk.AgentName}, Limit: o.stored})
	if err != nil {
		return err
	}
	if begins && conversations >= o.stored {
		return fmt.Errorf("%w: you keep as many conversations as you may (%d): delete one that you do not need", talk.ErrFull, conversations)
	}
	var bytes int64 // with the calls of views, and the long results that are stored beside the records
	err = db.QueryRowContext(ctx, `SELECT (SELECT COALESCE(SUM(LENGTH(data)), 0) FROM mcpchain_records
		WHERE run IN (SELECT num FROM mcpchain_runs WHERE tenant = ?)) + (SELECT COALESCE(SUM(size), 0) FROM mcpchain_blobs WHERE tenant = ?)`,
		user, user).Scan(&bytes)
	if err != nil {
		return err
	}
	if bytes >= o.bytes {
		return fmt.Errorf("%w: your conversations fill the %d MB that they may: delete one that you do not need", talk.ErrFull, bytes>>20)
	}
	return nil
}
