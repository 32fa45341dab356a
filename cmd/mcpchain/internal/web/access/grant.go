package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// connectTime bounds connecting to a server, because a user waits for it.
const connectTime = 20 * time.Second

// grant is the authorization of one user at one server, with its connection.
type grant struct {
	access *Access
	user   string
	server *config.Server
	auth   *oauth.Transport

	connecting sync.Mutex // held while connecting

	mu      sync.Mutex // guards the following fields
	state   State
	err     error            // why the server cannot be used, or the last sign-in has failed; or nil
	tools   *adapter.Toolset // nil without a connection
	ends    int              // how many connections have ended: one that was begun before the last end is not used
	scopes  []string         // missing in the token, according to refused calls
	attempt *attempt         // the sign-in in progress, or nil
	used    time.Time        // the last time
}

// attempt is a sign-in in progress.
type attempt struct {
	shown   chan struct{} // closed when there is an address
	address string        // to sign in at; set before shown is closed, and guarded by Access.mu until then
	done    chan struct{} // closed when the sign-in has ended
	err     error         // set before done is closed
}

// newGrant returns a grant of a user without a connection. The error says that the server's entry
// has no sign-in for users.
func newGrant(a *Access, user string, s *config.Server) (*grant, error) {
	g := &grant{access: a, user: user, server: s, state: Untried}
	http, ok := s.Transport.(*mcpclient.HTTP)
	if !ok {
		return nil, fmt.Errorf("server %q: only servers over HTTP have a sign-in for each user", s.Name)
	}
	own, copied := *s, *http
	own.Transport = &copied
	var err error
	g.auth, err = signin.Authorize(&own, &signin.Options{
		Client: "mcpchain", Store: a.opts.Store, Account: user, Receiver: g,
	})
	if err == nil && g.auth == nil {
		err = fmt.Errorf("server %q: its headers have a token, for all users", s.Name)
	}
	g.server = &own
	return g, err
}

// touch records a use.
func (g *grant) touch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used = time.Now()
}

// idle reports whether the grant has been unused since a time.
func (g *grant) idle(since time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.attempt == nil && g.used.Before(since)
}

// status returns what the user sees of the grant. The error of a connected server is what its entry says in vain.
func (g *grant) status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := Status{Name: g.server.Name, State: g.state}
	if g.err != nil {
		out.Error = hosttext.Line(signin.Failure(g.err).Error(), 500)
	} else if g.tools != nil {
		for _, s := range g.tools.Servers() {
			out.Error = Unmatched(s)
		}
	}
	return out
}

// Unmatched describes the names in the lists of a server's entry that match no tool, "" if
// there are none.
func Unmatched(s adapter.ServerStatus) string {
	if len(s.Unmatched) == 0 {
		return ""
	}
	return hosttext.Line("has no tool "+strings.Join(s.Unmatched, ", ")+", which the file allows or leaves out", 500)
}

// set sets the state, and the reason for it.
func (g *grant) set(state State, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.err = state, err
}

// toolset returns the tools of the connection, nil if there is none.
func (g *grant) toolset() *adapter.Toolset {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tools
}

// disconnect closes the connection, if there is one, and one that is being made once it is there.
func (g *grant) disconnect() error {
	g.mu.Lock()
	tools := g.tools
	g.tools = nil
	g.ends++
	g.mu.Unlock()
	if tools == nil {
		return nil
	}
	return tools.Close()
}

// connect connects to the server with the user's token, unless it is connected. The state says what
// came of it; it stays as it was if the context ends first.
func (g *grant) connect(ctx context.Context) {
	g.connecting.Lock()
	defer g.connecting.Unlock()
	if g.toolset() != nil {
		g.set(Ready, nil)
		return
	}
	limited, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	g.mu.Lock()
	ends := g.ends
	g.mu.Unlock()
	servers, _ := adapter.FromConfig(&config.Config{Servers: []config.Server{*g.server}})
	tools, err := adapter.Open(limited, servers, g.access.opts.Tools)
	_, needed := errors.AsType[*mcp.SignInError](err)
	switch {
	case needed:
		g.set(Needed, nil)
	case err != nil && ctx.Err() != nil:
	case err != nil:
		g.access.opts.Logger.Warn("a server of a user cannot be used", "server", g.server.Name, "error", err)
		g.set(Failing, err)
	case !g.use(tools, ends):
		_ = tools.Close() // nobody has used it
	}
}

// use makes a connection the grant's. It reports false if a connection has ended since the number
// of ends was read.
func (g *grant) use(tools *adapter.Toolset, ends int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ends != ends {
		return false
	}
	g.tools, g.state, g.err = tools, Ready, nil
	return true
}

// begin returns the sign-in in progress, or begins one.
func (g *grant) begin() (*attempt, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.access
	if g.attempt != nil {
		return g.attempt, nil
	}
	if a.ctx.Err() != nil {
		return nil, context.Cause(a.ctx)
	}
	at := &attempt{shown: make(chan struct{}), done: make(chan struct{})}
	g.attempt = at
	a.work.Go(func() {
		at.err = g.signIn(at)
		g.mu.Lock()
		g.attempt = nil
		g.mu.Unlock()
		a.opts.Changed(a.ctx, g.user, g.server.Name, at.err == nil)
		close(at.done)
	})
	return at, nil
}

// signIn signs the user in, and connects. The error is for the user to read.
func (g *grant) signIn(at *attempt) error {
	ctx := context.WithValue(g.access.ctx, attemptKey{}, at)
	g.mu.Lock()
	more := len(g.scopes) > 0
	g.mu.Unlock()
	if more { // the present token is valid but has too few scopes
		if err := g.auth.SignOut(ctx); err != nil {
			return err
		}
	}
	if err := g.auth.SignIn(ctx); err != nil {
		err = signin.Failure(err)
		g.set(Needed, err)
		return err
	}
	g.mu.Lock()
	g.scopes = nil
	g.mu.Unlock()
	g.connect(ctx)
	if s := g.status(); s.State != Ready {
		return fmt.Errorf("you are signed in, but the server cannot be used: %s", s.Error)
	}
	return nil
}

// want records that a refused call needs a sign-in, with these scopes. They are separated by spaces.
func (g *grant) want(scope string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.err = Needed, nil
	if g.tools != nil { // otherwise it is the first sign-in
		g.scopes = strings.Fields(scope)
	}
}

// allScopes returns the scopes of a sign-in, with those that refused calls need.
func (g *grant) allScopes(scope string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := append(strings.Fields(scope), g.scopes...)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}
