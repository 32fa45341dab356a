package talk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// Authorize prepares the sign-ins to servers, and keeps their tokens. The caller has to call
// [Servers.Close].
func (l *Servers) Authorize(p *person.Person, ui screen.Screen) {
	l.signIns = map[string]*oauth.Transport{}
	store, storeErr := signin.Tokens("")
	if storeErr != nil {
		store = oauth.NewMemoryStore()
	}
	l.authorize = func(s *config.Server) error {
		t, err := signin.Authorize(s, &signin.Options{
			Client: "mcpchain", Store: store, Receiver: p.Receiver(s.Name, signin.Port(s)),
		})
		if before := l.signIns[s.Name]; before != nil {
			_ = before.Close() // belongs to an earlier entry
		}
		l.setSignIn(s.Name, t)
		if err != nil && s.OAuth != nil { // otherwise the server cannot ask for a sign-in
			return s.Annotate(fmt.Errorf("sign in: %w", err))
		}
		return nil
	}
	for i := range l.file {
		s := &l.file[i]
		if s.Disabled || s.Err != nil {
			continue
		}
		if err := l.authorize(s); err != nil {
			l.Wrong = append(l.Wrong, adapter.ServerStatus{Name: s.Name, Err: err})
			l.Good = slices.DeleteFunc(l.Good, func(good adapter.Server) bool { return good.Name == s.Name })
		}
	}
	if storeErr != nil && len(l.signIns) > 0 {
		ui.Note(screen.Warn, "a sign-in lasts until the end of the program only: %v", storeErr)
	}
}

// setSignIn sets the sign-in of a server, nil for none.
func (l *Servers) setSignIn(server string, t *oauth.Transport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signIns[server] = t; t == nil {
		delete(l.signIns, server)
	}
}

// Close cancels the sign-ins that are under way.
func (l *Servers) Close() {
	for _, t := range l.signIns {
		_ = t.Close()
	}
}

// signInAtStart asks the person to sign in to the servers that could not be reached without it.
func (s *Session) signInAtStart(ctx context.Context) error {
	if !s.Screen.Attended() {
		return nil
	}
	for _, server := range s.tools.Servers() {
		if _, needed := errors.AsType[*signin.NeededError](server.Err); !needed {
			continue
		}
		err := s.signIn(signin.Asking(ctx), server.Name)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, signin.ErrDeclined):
			s.Screen.Note(screen.Fail, "%s", hosttext.Line(err.Error(), 2000))
		}
	}
	return nil
}

// signIn signs in to a server and connects to it, also if it was removed before.
func (s *Session) signIn(ctx context.Context, name string) error {
	t, err := s.signInTransport(name)
	if err != nil {
		return err
	}
	if err := t.SignIn(ctx); err != nil {
		return fmt.Errorf("sign in to %s: %w", name, signin.Failure(err))
	}
	isOpen := slices.ContainsFunc(s.tools.Servers(), func(o adapter.ServerStatus) bool { return o.Name == name })
	i := indexOf(s.Servers.Good, name)
	if !isOpen && i >= 0 {
		return s.add(ctx, s.Servers.Good[i])
	}
	defer s.Servers.health.beginConnect(name)()
	return s.tools.Refresh(ctx, name)
}

// signInTransport returns the transport that signs in to a server.
func (s *Session) signInTransport(name string) (*oauth.Transport, error) {
	if t := s.Servers.signIns[name]; t != nil {
		return t, nil
	}
	if slices.Contains(s.Servers.Names(), name) {
		return nil, fmt.Errorf("the server %s has no sign-in: it is started here, or has a key in its headers", name)
	}
	return nil, fmt.Errorf("no server is called %s", hosttext.Line(name, 80))
}

// login is the command /login.
func (s *Session) login(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("usage: /login SERVER")
	}
	if err := s.signIn(ctx, name); err != nil {
		return err
	}
	return s.afterConnect(ctx, name, "you are signed in to")
}

// logout is the command /logout: it forgets the token of a server and closes its connection.
func (s *Session) logout(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("usage: /logout SERVER")
	}
	t, err := s.signInTransport(name)
	if err != nil {
		return err
	}
	_ = s.tools.Remove(name) // fails if the server was removed before
	if err := t.SignOut(ctx); err != nil {
		return fmt.Errorf("sign out of %s: %w", name, err)
	}
	s.Screen.Note(screen.Faint, "you are signed out of %s, and its tools are gone; /login %s brings them back",
		name, name)
	return s.makeAgent(ctx)
}

// completeSignIn completes the arguments of /login and /logout.
func (s *Session) completeSignIn(context.Context, string) (c screen.Completion) {
	s.Servers.mu.Lock()
	defer s.Servers.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.Servers.signIns)) {
		c.Items = append(c.Items, screen.Item{Text: hosttext.Line(name, maxItemText)})
	}
	return c
}
