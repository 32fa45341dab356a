// Package access signs each user in to the servers that ask for it, and connects to them with the
// user's own token: a connection is bound to one authorization.
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
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// maxGrants bounds the connections of all users.
const maxGrants = 2000

// A connection that nobody uses ends after idleAfter; if there are maxGrants, after idleIfFull. The next use connects
// again, with the token that is kept.
const (
	idleAfter  = 12 * time.Hour
	idleIfFull = 15 * time.Minute
)

// Options configure an Access. Store, Callback and Changed must be set.
type Options struct {
	Servers  []*config.Server // by HTTP; their transports are copied
	Store    oauth.Store      // of tokens, by user
	Callback string           // URL of the route to which authorization servers send people back
	Tools    *adapter.Options // of each connection
	Logger   *slog.Logger     // default: [slog.Default]

	// Changed is told that the state of a user's server is another one, and if the user has signed
	// in just now. It runs in a goroutine of the Access.
	Changed func(ctx context.Context, user, server string, signedIn bool)
}

// State says how a user stands with a server.
type State string

// The states of a server.
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

// The errors of what a user does.
var (
	ErrNoServer = errors.New("there is no such server")
	ErrNoSignIn = errors.New("this sign-in is over, or not yours; begin again")
	ErrFull     = errors.New("too many people use the servers that ask for a sign-in")
)

// Access has the connections of all users. Its methods may be called concurrently.
type Access struct {
	opts Options
	none adapter.Source // has no tools

	ctx  context.Context // of sign-ins; ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	grants  map[[2]string]*grant
	waiting map[string]*reception // for the answer with a state
}

// New returns an Access. The caller closes it.
func New(o Options) *Access {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	a := &Access{opts: o, none: adapter.Merge(), grants: map[[2]string]*grant{}, waiting: map[string]*reception{}}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.work.Go(a.tidy)
	return a
}

// tidy ends what nobody uses.
func (a *Access) tidy() {
	for tick := time.NewTicker(idleAfter / 4); ; {
		select {
		case <-tick.C:
			a.endIdle(time.Now().Add(-idleAfter))
		case <-a.ctx.Done():
			tick.Stop()
			return
		}
	}
}

// endIdle ends what nobody has used since a time, but for sign-ins under way.
func (a *Access) endIdle(since time.Time) {
	a.mu.Lock()
	var idle []*grant
	for key, g := range a.grants {
		if g.idle(since) {
			idle = append(idle, g)
			delete(a.grants, key)
		}
	}
	a.mu.Unlock()
	for _, g := range idle {
		if err := errors.Join(g.disconnect(), g.auth.Close()); err != nil {
			a.opts.Logger.Warn("a connection did not end well", "server", g.server.Name, "error", err)
		}
	}
}

// Close ends sign-ins and connections.
func (a *Access) Close() (err error) {
	a.stop()
	a.work.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, g := range a.grants {
		err = errors.Join(err, g.disconnect(), g.auth.Close())
	}
	return err
}

// Names are the servers.
func (a *Access) Names() (out []string) {
	for _, s := range a.opts.Servers {
		out = append(out, s.Name)
	}
	return out
}

// Sources are the tools of a user, by the servers that the user is connected to.
func (a *Access) Sources(user string) (out []adapter.Source) {
	for _, s := range a.opts.Servers {
		out = append(out, &source{a, user, s.Name})
	}
	return out
}

// source has the tools of one server, for one user.
type source struct {
	access       *Access
	user, server string
}

// Catalog implements [adapter.Source].
func (s *source) Catalog(p profile.Profile) *adapter.Catalog {
	if g, err := s.access.grant(s.user, s.server); err == nil {
		if tools := g.connected(); tools != nil {
			return tools.Catalog(p)
		}
	}
	return s.access.none.Catalog(p)
}

// Connect connects to the servers that were not tried for the user. It needs a token of an earlier
// sign-in, or none: what asks for a sign-in says so in its status.
func (a *Access) Connect(ctx context.Context, user string) {
	for _, s := range a.opts.Servers {
		if g, err := a.grant(user, s.Name); err == nil && g.status().State == Untried {
			g.connect(ctx)
		}
	}
}

// View is Status for windows of the page.
func (a *Access) View(user string) any { return a.Status(user) }

// Status is how a user stands with each server.
func (a *Access) Status(user string) []Status {
	out := []Status{}
	for _, s := range a.opts.Servers {
		g, err := a.grant(user, s.Name)
		if err != nil {
			out = append(out, Status{Name: s.Name, State: Failing, Error: err.Error()})
			continue
		}
		out = append(out, g.status())
	}
	return out
}

// Begin begins to sign a user in to a server, and returns the address to sign in at. It is empty if
// the user is signed in already.
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
	case <-attempt.shown:
		return attempt.address, nil
	case <-attempt.done:
		return "", attempt.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Callback takes the answer of an authorization server, which the user's browser brings, and returns
// when the sign-in has ended. Another user's browser cannot bring it.
func (a *Access) Callback(ctx context.Context, user string, answer url.Values) (server string, err error) {
	a.mu.Lock()
	r := a.waiting[answer.Get("state")]
	if r == nil || r.grant.user != user {
		a.mu.Unlock()
		return "", ErrNoSignIn
	}
	delete(a.waiting, answer.Get("state")) // there is one answer
	a.mu.Unlock()
	r.answer <- answer
	select {
	case <-r.attempt.done:
		return r.grant.server.Name, r.attempt.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// SignOut forgets the user's token for a server, and ends the connection.
func (a *Access) SignOut(ctx context.Context, user, server string) error {
	g, err := a.grant(user, server)
	if err != nil {
		return err
	}
	if err := g.auth.SignOut(ctx); err != nil {
		return fmt.Errorf("sign out of %s: %w", server, err)
	}
	err = g.disconnect()
	g.set(Needed, nil)
	a.opts.Changed(ctx, user, server, false)
	return err
}

// grant returns what a user has at a server.
func (a *Access) grant(user, server string) (*grant, error) {
	g, err := a.take(user, server)
	if errors.Is(err, ErrFull) {
		a.endIdle(time.Now().Add(-idleIfFull))
		g, err = a.take(user, server)
	}
	return g, err
}

func (a *Access) take(user, server string) (*grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]string{user, server}
	if g := a.grants[key]; g != nil {
		g.touch()
		return g, nil
	}
	if a.ctx.Err() != nil {
		return nil, context.Cause(a.ctx)
	}
	if len(a.grants) >= maxGrants {
		return nil, ErrFull
	}
	for _, s := range a.opts.Servers {
		if s.Name != server {
			continue
		}
		g, err := newGrant(a, user, s)
		if err != nil {
			return nil, err
		}
		g.touch()
		a.grants[key] = g
		return g, nil
	}
	return nil, ErrNoServer
}
