package web

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/keep"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/rules"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/signin"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

// app is the program without its listener.
type app struct {
	handler http.Handler
	again   func() (users int, err error) // reads the users again; nil without a file
	closers []func() error                // called in reverse order
}

func (a *app) later(close func() error) { a.closers = append(a.closers, close) }

func (a *app) close() (err error) {
	for i := len(a.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, a.closers[i]())
	}
	return err
}

// assemble creates the parts of the program. The caller closes the app.
func assemble(ctx context.Context, o *options, address net.Addr) (_ *app, err error) {
	a := &app{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	db, err := database.Open(ctx, o.store)
	if err != nil {
		return nil, err
	}
	a.later(db.Close)
	store, err := a.store(ctx, o, db)
	if err != nil {
		return nil, err
	}
	users, err := a.signIn(ctx, o, db.DB)
	if err != nil {
		return nil, err
	}
	model, err := hosting.OpenModel(ctx, o.model, false, o.logger)
	if err != nil {
		return nil, err
	}
	a.later(model.Close)
	prices := o.model.Prices
	if o.model.Model.Name == "" {
		prices = demoPrices
	}
	sandboxed, err := a.sandbox(o, address)
	if err != nil {
		return nil, err
	}
	opts, err := toolOptions(o, model.Model, prices)
	if err != nil {
		return nil, err
	}
	var service *talk.Service
	kept := rules.New(func(user string) { service.Changed(user) })
	opts.Decisions = kept
	var present atomic.Pointer[talk.Service] // servers may change before it is set
	tools, asking, refused, err := a.tools(ctx, o, sandboxed, opts, func(adapter.Event) {
		if s := present.Load(); s != nil {
			s.ChangedAll()
		}
	})
	if err != nil {
		return nil, err
	}
	personal, err := a.personal(o, address, opts, asking, func(ctx context.Context, user, server string, signedIn bool) {
		service.Changed(user)
		if !signedIn {
			return
		}
		if err := service.SignedIn(ctx, user, server); err != nil && ctx.Err() == nil {
			o.logger.Error("calls that wait for a sign-in do not go on", "server", server, "error", err)
		}
	})
	if err != nil {
		return nil, err
	}
	settings := talk.Options{
		Model: model.LLM, Store: store, Tools: []adapter.Source{tools}, Personal: personal, Rules: kept, Prices: prices, Logger: o.logger,
		System: "You help the user with the tools that you have. Answer in Markdown.",
		Limits: run.Limits{Tokens: int64(o.tokens)},
		Shared: func() any {
			return shared{model.Name, o.config == "", names(tools), troubles(tools, refused, strings.TrimSuffix(o.config, filepath.Base(o.config)))}
		},
		Room: func(ctx context.Context, user string, begins bool) error {
			return store.Room(ctx, user, begins, keep.Bounds{Conversations: o.stored, Bytes: o.bytes})
		},
	}
	if sandboxed != nil {
		settings.View, settings.ViewTools = viewOf(tools), tools.ViewTools()
	}
	service, err = talk.New(settings)
	if err != nil {
		return nil, err
	}
	present.Store(service)
	a.later(func() error { service.Close(); return nil })
	shown, frames := sandboxed.show(a, o, service, tools)
	a.handler = site.New(site.Options{
		Views: shown, FrameOrigin: frames, Access: personal, Rules: kept,
		Talk: service, SignIn: users, Hosts: o.allowedHosts(address), Secure: o.isSecure(), Canonical: o.canonical(address), AddressHeader: o.addressHeader, Proxies: o.Proxies,
		Health: func(ctx context.Context) error { return hosting.CheckStore(ctx, db.Runs) },
		Limits: site.Limits{PerMinute: o.rate}, Logger: o.logger,
	})
	return a, nil
}

// store opens the store of conversations.
func (a *app) store(ctx context.Context, o *options, db *database.DB) (*keep.Store, error) {
	store, err := keep.New(ctx, db.DB, db.Runs)
	if err != nil || o.kept == 0 {
		return store, err
	}
	stop := hosting.Tidy(store, o.kept, o.logger)
	a.later(func() error { stop(); return nil })
	return store, nil
}

// shared is what windows show about the model and the shared servers.
type shared struct {
	Model    string    `json:"model"`
	Demo     bool      `json:"demo"` // the servers are the program's own
	Servers  []string  `json:"servers"`
	Troubles []trouble `json:"troubles"`
}

// trouble says why a server is left out, or which part of its entry in the file has no effect.
type trouble struct {
	Server string `json:"server"`
	Text   string `json:"text"`
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
		users, a.again = signin.Users{Tokens: table}, table.Again
	}
	return signin.New(ctx, db, users, o.isSecure())
}

// personal returns the servers to which each user signs in. Tokens are in files beside the
// database that only the program's own user may read.
func (a *app) personal(o *options, address net.Addr, opts *adapter.Options, servers []*config.Server, changed func(context.Context, string, string, bool)) (*access.Access, error) {
	tokens, err := oauth.FileStore(filepath.Join(filepath.Dir(o.store), "tokens"))
	if err != nil {
		return nil, err
	}
	personal := access.New(access.Options{
		Servers: servers, Store: tokens, Tools: opts, Logger: o.logger, Changed: changed,
		Callback: o.base(address) + site.CallbackPath,
	})
	a.later(personal.Close)
	return personal, nil
}

// toolOptions returns the options of all connections.
func toolOptions(o *options, model models.Model, prices *price.Table) (*adapter.Options, error) {
	opts := &adapter.Options{
		Client: &mcpclient.Options{Logger: o.logger}, User: hosting.User, Logger: o.logger,
		Policy: adapter.Policy{ConnectTimeout: o.timeouts.Connect, IdleTimeout: o.timeouts.Idle, CallTimeout: o.timeouts.Call},
	}
	if model.API == models.Messages {
		return opts, nil // servers cannot use the model
	}
	sampler, err := model.Sampler(sampling.Options{
		Review: sampling.AskLater(), Prices: prices,
		Source: func(ctx context.Context) (server, call string) {
			from, _ := adapter.SourceFrom(ctx)
			return from.Server, from.Call.ID
		},
	})
	if err != nil {
		return nil, err
	}
	opts.Client.Sampling = sampler
	return opts, nil
}

// patience is how long the start waits for slow servers, which join later.
const patience = 2 * time.Second

// tools connects to the shared servers. Servers that require a sign-in are connected per user.
func (a *app) tools(ctx context.Context, o *options, sandboxed *views, opts *adapter.Options, changed func(adapter.Event)) (tools *adapter.Toolset, asking []*config.Server, refused []adapter.ServerStatus, err error) {
	var servers []adapter.Server
	var file []*config.Server
	if o.config == "" {
		var end func() error
		if servers, end, err = hosting.DemoServers(); err == nil {
			a.later(end)
		}
	} else {
		servers, file, refused, err = o.servers(ctx)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	shared := *opts
	shared.Policy.Start, shared.OnChange = adapter.StartAvailable, changed
	if len(file) == 0 { // otherwise the start has to find out who requires a sign-in
		shared.Patience = patience
	}
	shared.Lists = filepath.Join(filepath.Dir(o.store), "tools")
	if sandboxed != nil {
		if shared.Client, err = apps.Declare(opts.Client); err != nil {
			return nil, nil, nil, err
		}
	}
	if tools, err = adapter.Open(ctx, servers, &shared); err != nil {
		return nil, nil, nil, err
	}
	a.later(tools.Close)
	for _, s := range file {
		if slices.ContainsFunc(tools.Servers(), func(t adapter.ServerStatus) bool { return t.Name == s.Name && wantsSignIn(t.Err) }) {
			if err := tools.Remove(s.Name); err != nil {
				return nil, nil, nil, err
			}
			asking = append(asking, s)
		} else if s.OAuth != nil {
			asking = append(asking, s)
		}
	}
	if o.config != "" {
		_ = hosting.Report(o.logger, o.config, tools.Servers(), refused) // the page works without servers
	}
	return tools, asking, refused, nil
}

// troubles returns what the panel shows about servers. A mistake in the file has its line; how
// to reach a server is only in the log. folder is the part of the file's path to hide.
func troubles(tools *adapter.Toolset, refused []adapter.ServerStatus, folder string) []trouble {
	out := []trouble{}
	for _, s := range slices.Concat(refused, tools.Servers()) {
		switch {
		case errors.Is(s.Err, config.ErrEntry):
			text := strings.Replace(s.Err.Error(), fmt.Sprintf("server %q: ", s.Name), "", 1)
			out = append(out, trouble{Server: s.Name, Text: talk.ShownError(strings.TrimPrefix(text, folder))})
		case errors.Is(s.Err, adapter.ErrConnecting):
			out = append(out, trouble{Server: s.Name, Text: "is slow, and joins when it is ready"})
		case s.Err != nil:
			out = append(out, trouble{Server: s.Name, Text: "cannot be used; the log has the reason, and it is tried again"})
		case s.Ended != nil:
			out = append(out, trouble{Server: s.Name, Text: "has ended; it is tried again"})
		case len(s.Unmatched) > 0:
			out = append(out, trouble{Server: s.Name, Text: access.Unmatched(s)})
		}
	}
	return out
}

// wantsSignIn reports whether a server requires a token.
func wantsSignIn(err error) bool {
	refused, ok := errors.AsType[*transport.HTTPError](err)
	return ok && refused.Status == http.StatusUnauthorized
}

// servers reads the configuration. Servers are not trusted: each call is approved by a person.
// Servers with "oauth" are per user, and only returned in file. A mistake in one server
// excludes only that server.
func (o *options) servers(ctx context.Context) (out []adapter.Server, file []*config.Server, refused []adapter.ServerStatus, err error) {
	cfg, err := hosting.Load(ctx, o.config, &o.Hosting, true)
	if err != nil {
		return nil, nil, nil, err
	}
	shared := new(config.Config)
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		if s.Err == nil && !s.Disabled {
			file = append(file, s)
		}
		if s.OAuth == nil {
			shared.Servers = append(shared.Servers, *s)
		}
	}
	out, refused = hosting.Servers(shared, &o.Hosting)
	return out, file, refused, nil
}

// names returns the usable servers.
func names(tools *adapter.Toolset) []string {
	out := []string{}
	for _, s := range tools.Servers() {
		if s.Err == nil && s.Ended == nil {
			out = append(out, s.Name)
		}
	}
	return out
}

// demoPrices are prices for the demo model, so that costs are shown.
var demoPrices = &price.Table{Date: "2026-11-01", Models: []price.Price{{Model: tryout.ModelName, Currency: "USD", Input: 250_000, Output: 2_000_000}}}
