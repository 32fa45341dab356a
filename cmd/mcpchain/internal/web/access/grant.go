package access

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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

// connectTime bounds connecting to a server, because a user waits for it. After a failure a turn tries again, but not
// before retryAfter, and not before retryShare times as long as the attempt took.
const (
	connectTime = 20 * time.Second
	retryAfter  = time.Minute
	retryShare  = 20
)

// grant is the authorization of one user at one server, with its connection.
type grant struct {
	access *Access
	user   string
	server *config.Server
	auth   *oauth.Transport

	connecting chan struct{} // has a value while a goroutine connects; room for one

	mu      sync.Mutex // guards the following fields
	state   State
	err     error            // why the server cannot be used, or the last sign-in has failed; or nil
	tools   *adapter.Toolset // nil without a connection
	ends    int              // number of calls of disconnect: a connection that was begun before the last one is not used
	scopes  []string         // that the token lacks, according to refused calls
	attempt *attempt         // the sign-in in progress, or nil
	used    time.Time        // when the grant was last used
	retry   time.Time        // when a turn tries again to connect to a failing server
	calls   int              // number of calls in progress
}

// attempt is a sign-in in progress.
type attempt struct {
	grant      *grant
	answer     chan url.Values // of the authorization server; has room for it
	addressSet chan struct{}   // closed when there is an address
	address    string          // to sign in at; set before addressSet is closed, and guarded by Access.mu until then
	done       chan struct{}   // closed when the sign-in has ended
	err        error           // set before done is closed
}

// newGrant returns a grant of a user without a connection. The error says that the server's entry
// has no sign-in for users.
func newGrant(a *Access, user string, s *config.Server) (*grant, error) {
	g := &grant{access: a, user: user, server: s, connecting: make(chan struct{}, 1), state: Untried}
	http, ok := s.Transport.(*mcpclient.HTTP)
	if !ok {
		return nil, fmt.Errorf("server %q: only servers over HTTP have a sign-in for each user", s.Name)
	}
	own, copied := *s, *http
	own.Transport = &copied
	var err error
	g.auth, err = g.authorize(&own, a.opts.Store)
	if err == nil && g.auth == nil {
		err = fmt.Errorf("server %q: its headers have a token, for all users", s.Name)
	}
	g.server = &own
	return g, err
}

// authorize gives a server an HTTP client with the user's token.
func (g *grant) authorize(s *config.Server, store oauth.Store) (*oauth.Transport, error) {
	return signin.Authorize(s, &signin.Options{Client: "mcpchain", Store: store, Account: g.user, Receiver: g})
}

// idle reports whether the grant has been unused since a time, no call is in progress, and nobody signs in.
func (g *grant) idle(since time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.attempt == nil && g.calls == 0 && g.used.Before(since)
}

// toolOptions returns the options of a connection, whose calls are counted: one may wait for hours for its user.
func (g *grant) toolOptions() *adapter.Options {
	var opts adapter.Options
	if shared := g.access.opts.Tools; shared != nil {
		opts = *shared
	}
	opts.Intercept = append(slices.Clip(opts.Intercept), func(next adapter.Handler) adapter.Handler {
		return func(ctx context.Context, r *adapter.Request) (*mcp.CallToolResult, error) {
			g.countCalls(1)
			defer g.countCalls(-1)
			return next(ctx, r)
		}
	})
	return &opts
}

// countCalls adds n to the calls in progress, and records a use.
func (g *grant) countCalls(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls += n
	g.used = time.Now()
}

// status returns what the user sees of the grant. For a connected server, the error names tools of the server's entry
// that it does not have.
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

// Unmatched describes the names in the lists of a server's entry that match no tool, "" if there are none.
func Unmatched(s adapter.ServerStatus) string {
	if len(s.Unmatched) == 0 {
		return ""
	}
	return hosttext.Line("has no tool "+strings.Join(s.Unmatched, ", ")+", which the file allows or leaves out", 500)
}

// isDue reports whether a turn has to connect to the server.
func (g *grant) isDue() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == Untried || g.state == Failing && !time.Now().Before(g.retry)
}

// setState sets the state, and the reason for it.
func (g *grant) setState(state State, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.err = state, err
}

// fail sets the state after an attempt to connect that took a time.
func (g *grant) fail(err error, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.err, g.retry = Failing, err, time.Now().Add(max(retryAfter, retryShare*took))
}

// toolset returns the tools of the connection, nil if there is none.
func (g *grant) toolset() *adapter.Toolset {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tools
}

// disconnect closes the connection, if there is one. A connection that is being made is closed when it is made.
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

// connect connects to the server with the user's token, unless it is connected, and sets the state. The state stays as
// it was if the context ends first.
func (g *grant) connect(ctx context.Context) {
	select {
	case g.connecting <- struct{}{}:
		defer func() { <-g.connecting }()
	case <-ctx.Done():
		return
	}
	if g.toolset() != nil {
		g.setState(Ready, nil)
		return
	}
	limited, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	began := time.Now()
	g.mu.Lock()
	ends := g.ends
	g.retry = began.Add(retryAfter) // also if the turn is stopped meanwhile
	g.mu.Unlock()
	servers, _ := adapter.FromConfig([]config.Server{*g.server})
	tools, err := adapter.Open(limited, servers, g.toolOptions())
	_, needed := errors.AsType[*mcp.SignInError](err)
	switch {
	case needed:
		g.setState(Needed, nil)
	case err != nil && ctx.Err() != nil:
	case err != nil:
		g.access.opts.Logger.Warn("a server of a user cannot be used", "server", g.server.Name, "error", err)
		g.fail(err, time.Since(began))
	case !g.adopt(tools, ends):
		_ = tools.Close() // nobody has used it
	}
}

// adopt makes a connection the grant's. It reports false if disconnect was called since ends was read.
func (g *grant) adopt(tools *adapter.Toolset, ends int) bool {
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
	current := &attempt{grant: g, answer: make(chan url.Values, 1), addressSet: make(chan struct{}), done: make(chan struct{})}
	g.attempt = current
	a.work.Go(func() {
		current.err = g.signIn(current)
		g.mu.Lock()
		g.attempt = nil
		g.mu.Unlock()
		a.opts.Changed(a.ctx, g.user, g.server.Name, current.err == nil)
		close(current.done)
	})
	return current, nil
}

// signIn signs the user in, and connects. The error is for the user to read.
func (g *grant) signIn(current *attempt) error {
	ctx := context.WithValue(g.access.ctx, attemptKey{}, current)
	g.mu.Lock()
	auth, scopes := g.auth, g.scopes
	g.mu.Unlock()
	if len(scopes) > 0 { // the present token is valid but has too few
		var err error
		if auth, err = g.stepUp(scopes); err != nil {
			return err
		}
		defer func() { _ = auth.Close() }()
	}
	if err := auth.SignIn(ctx); err != nil {
		err = signin.Failure(err)
		g.setState(Needed, err)
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

// requireSignIn records that a refused call needs a sign-in with these scopes, which spaces separate.
func (g *grant) requireSignIn(scope string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, g.err = Needed, nil
	if g.tools != nil { // otherwise there is no token yet
		g.scopes = strings.Fields(scope)
	}
}

// stepUp returns a transport that signs in for these scopes, too. The present token stays until there is another one in
// the store, where g.auth looks when the server refuses the present one.
func (g *grant) stepUp(scopes []string) (*oauth.Transport, error) {
	own, file, http := *g.server, config.OAuth{}, *g.server.Transport.(*mcpclient.HTTP)
	if own.OAuth != nil {
		file = *own.OAuth
	}
	file.Scopes = slices.Concat(file.Scopes, scopes)
	slices.Sort(file.Scopes)
	file.Scopes = slices.Compact(file.Scopes)
	own.OAuth, own.Transport = &file, &http
	return g.authorize(&own, tokenless{g.access.opts.Store})
}

// tokenless is a store in which one cannot see tokens, but which keeps them.
type tokenless struct{ oauth.Store }

func (s tokenless) Load(ctx context.Context, key oauth.Key) ([]byte, error) {
	if key.Resource != "" {
		return nil, nil
	}
	return s.Store.Load(ctx, key)
}

func (s tokenless) Update(ctx context.Context, key oauth.Key, change func(context.Context, []byte) ([]byte, error)) error {
	return s.Store.Update(ctx, key, func(ctx context.Context, old []byte) ([]byte, error) {
		if key.Resource == "" {
			return change(ctx, old)
		}
		value, err := change(ctx, nil)
		if value == nil {
			value = old
		}
		return value, err
	})
}
