// Package access signs users in to servers, and connects to the servers with the user's own token: a connection belongs
// to one user.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// maxGrants bounds the grants of all users. Each has at most one connection.
const maxGrants = 2000

// idleAfter is how long a connection stays open without a call, and without a change that windows of its user show. The
// next use reconnects with the stored token.
const idleAfter = time.Hour

// Options configure an Access. Store, Callback and Changed must be set.
type Options struct {
	Store    oauth.Store      // keeps tokens by user
	Callback string           // URL of the route to which authorization servers redirect
	Tools    *adapter.Options // for each connection
	Logger   *slog.Logger     // default: [slog.Default]

	// Changed is called when the state of a user's server has changed: by SignOut, or on a goroutine of the Access after a
	// sign-in. signedIn reports whether the user has just signed in.
	Changed func(ctx context.Context, user, server string, signedIn bool)
}

// State is the state of a user's authorization at a server.
type State string

// The states of a server: Needed means that the user has to sign in.
const (
	Untried State = "new"
	Needed  State = "sign_in"
	Ready   State = "ready"
	Failing State = "failed"
)

// Status is a server of a user.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Error string `json:"error,omitempty"`
}

// The errors of a user's actions.
var (
	ErrNoServer = errors.New("there is no such server")
	ErrNoSignIn = errors.New("this sign-in is over, or not yours; begin again")
	ErrFull     = errors.New("too many people use the servers that ask for a sign-in")
)

// Access has the connections of all users. Its methods may be called concurrently.
type Access struct {
	opts    Options
	noTools adapter.Source // has no tools

	ctx  context.Context // for sign-ins; ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex           // guards the following fields
	servers []*config.Server     // only grows
	grants  map[[2]string]*grant // by user and server
	waiting map[string]*attempt  // by the parameter state of the expected answer
}

// New returns an Access without servers. The caller closes it.
func New(o Options) *Access {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	a := &Access{opts: o, noTools: adapter.Merge(), grants: map[[2]string]*grant{}, waiting: map[string]*attempt{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.work.Go(func() {
		hosting.Every(a.ctx, idleAfter/4, a.endIdle)
	})
	return a
}

// Add adds a server over HTTP, whose transport it copies.
func (a *Access) Add(s *config.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.servers = append(a.servers, s)
}

// list returns the servers.
func (a *Access) list() []*config.Server {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.servers
}

// endIdle ends the grants that have been unused for idleAfter, except for calls and sign-ins in progress.
func (a *Access) endIdle() {
	since := time.Now().Add(-idleAfter)
	if err := a.end(func(g *grant) bool { return g.idle(since) }); err != nil {
		a.opts.Logger.Warn("a connection did not end well", "error", err)
	}
}

// end forgets grants, and closes their connections.
func (a *Access) end(which func(*grant) bool) (err error) {
	a.mu.Lock()
	var ended []*grant
	for key, g := range a.grants {
		if which(g) {
			ended = append(ended, g)
			delete(a.grants, key)
		}
	}
	a.mu.Unlock()
	for _, g := range ended {
		if closeErr := errors.Join(g.disconnect(), g.auth.Close()); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("server %q: %w", g.server.Name, closeErr))
		}
	}
	return err
}

// Close ends sign-ins and connections, and waits for them. Tokens stay in the store.
func (a *Access) Close() error {
	a.stop()
	a.work.Wait()
	return a.end(func(*grant) bool { return true })
}

// Sources returns a source of tools for each server. It has tools while the user is connected to the server.
func (a *Access) Sources(user string) (out []adapter.Source) {
	for _, s := range a.list() {
		out = append(out, &source{a, user, s.Name})
	}
	return out
}

// source has the tools of one server for one user.
type source struct {
	access       *Access
	user, server string
}

// Catalog implements [adapter.Source].
func (s *source) Catalog(p profile.Profile) *adapter.Catalog {
	if g, err := s.access.grant(s.user, s.server); err == nil {
		if tools := g.toolset(); tools != nil {
			return tools.Catalog(p)
		}
	}
	return s.access.noTools.Catalog(p)
}

// Connect connects to the servers that were not tried for the user, or failed a while ago, concurrently. It uses the
// token of an earlier sign-in, if there is one. [Access.Status] then has the states.
func (a *Access) Connect(ctx context.Context, user string) {
	var all sync.WaitGroup
	for _, s := range a.list() {
		if g, err := a.grant(user, s.Name); err == nil && g.isDue() {
			all.Go(func() { g.connect(ctx) })
		}
	}
	all.Wait()
}

// Status returns the user's state at each server.
func (a *Access) Status(user string) []Status {
	out := []Status{}
	for _, s := range a.list() {
		g, err := a.grant(user, s.Name)
		if err != nil {
			out = append(out, Status{Name: s.Name, State: Failing, Error: err.Error()})
			continue
		}
		out = append(out, g.status())
	}
	return out
}

// Begin begins to sign a user in to a server, or joins the sign-in in progress, and returns the address to sign in at.
// The address is empty if the user is signed in already. The sign-in continues when ctx ends. The error matches
// ErrNoServer or ErrFull, or says why the sign-in has failed.
func (a *Access) Begin(ctx context.Context, user, server string) (address string, err error) {
	g, err := a.grant(user, server)
	if err != nil {
		return "", err
	}
	attempt, err := g.begin()
	if err != nil {
		return "", err
	}
	select {
	case <-attempt.addressSet:
		return attempt.address, nil
	case <-attempt.done:
		return "", attempt.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Callback handles the answer of an authorization server, which the user's browser delivers, and returns the server
// when the sign-in has ended. The error matches ErrNoSignIn for an answer that this user's sign-in does not expect.
func (a *Access) Callback(ctx context.Context, user string, answer url.Values) (server string, err error) {
	a.mu.Lock()
	at := a.waiting[answer.Get("state")]
	if at == nil || at.grant.user != user {
		a.mu.Unlock()
		return "", ErrNoSignIn
	}
	delete(a.waiting, answer.Get("state")) // there is only one answer
	a.mu.Unlock()
	at.answer <- answer
	select {
	case <-at.done:
		return at.grant.server.Name, at.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// SignOut deletes the user's token for a server, and closes the connection. The connection stays open if the token
// cannot be deleted.
func (a *Access) SignOut(ctx context.Context, user, server string) error {
	g, err := a.grant(user, server)
	if err != nil {
		return err
	}
	if err := g.auth.SignOut(ctx); err != nil {
		return fmt.Errorf("sign out of %s: %w", server, err)
	}
	err = g.disconnect()
	g.setState(Needed, nil)
	a.opts.Changed(ctx, user, server, false)
	return err
}

// grant returns a user's grant for a server, and records a use. The error matches ErrNoServer or ErrFull.
func (a *Access) grant(user, server string) (*grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]string{user, server}
	if g := a.grants[key]; g != nil {
		g.countCalls(0)
		return g, nil
	}
	if a.ctx.Err() != nil {
		return nil, context.Cause(a.ctx)
	}
	if len(a.grants) >= maxGrants {
		return nil, ErrFull
	}
	for _, s := range a.servers {
		if s.Name != server {
			continue
		}
		g, err := newGrant(a, user, s)
		if err != nil {
			return nil, err
		}
		g.countCalls(0)
		a.grants[key] = g
		return g, nil
	}
	return nil, ErrNoServer
}
