package talk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// authorize prepares the sign-ins to servers, and keeps their tokens.
func (l *Servers) authorize() {
	l.signIns = map[string]*oauth.Transport{}
	store, storeErr := signin.Tokens("")
	if storeErr != nil {
		store = oauth.NewMemoryStore()
	}
	for i := range l.file {
		s := &l.file[i]
		if s.Disabled || s.Err != nil {
			continue
		}
		t, err := signin.Authorize(s, &signin.Options{
			Client: "mcpchain", Store: store, Receiver: l.person.Receiver(s.Name, signin.Port(s)),
		})
		switch {
		case t != nil:
			l.signIns[s.Name] = t
		case err != nil && s.OAuth != nil: // otherwise the server cannot ask for a sign-in
			l.Wrong = append(l.Wrong, adapter.ServerStatus{Name: s.Name, Err: s.Annotate(fmt.Errorf("sign in: %w", err))})
			l.Good = slices.DeleteFunc(l.Good, func(good adapter.Server) bool { return good.Name == s.Name })
		}
	}
	if storeErr != nil && len(l.signIns) > 0 {
		l.screen.Note(screen.Warn, "a sign-in lasts until the end of the program only: %v", storeErr)
	}
}

// close closes the connections, and cancels the sign-ins that are under way.
func (l *Servers) close() {
	if l.toolset != nil {
		_ = l.toolset.Close()
	}
	for _, t := range l.signIns {
		_ = t.Close()
	}
}

// signInOf returns the transport that signs in to a server.
func (l *Servers) signInOf(name string) (*oauth.Transport, error) {
	if t := l.signIns[name]; t != nil {
		return t, nil
	}
	if slices.Contains(l.Names(), name) {
		return nil, fmt.Errorf("the server %s has no sign-in: it is started here, or has a key in its headers", name)
	}
	return nil, fmt.Errorf("no server is called %s", hosttext.Line(name, 80))
}

// completeSignIn completes the arguments of /login and /logout.
func (l *Servers) completeSignIn(context.Context, string) (found screen.Completion) {
	for _, name := range slices.Sorted(maps.Keys(l.signIns)) {
		found.Items = append(found.Items, screen.Item{Text: hosttext.Line(name, maxItemText)})
	}
	return found
}

// signInAtStart asks the person to sign in to the servers that could not be reached without it.
func (l *Servers) signInAtStart(ctx context.Context) error {
	if !l.screen.Attended() {
		return nil
	}
	for _, server := range l.toolset.Servers() {
		if _, needed := errors.AsType[*signin.NeededError](server.Err); !needed {
			continue
		}
		err := l.signIn(signin.Asking(ctx), server.Name)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, signin.ErrDeclined):
			l.screen.Note(screen.Fail, "%s", hosttext.Line(err.Error(), 2000))
		}
	}
	return nil
}

// signIn signs in to a server and connects to it, also if it was removed before.
func (l *Servers) signIn(ctx context.Context, name string) error {
	t, err := l.signInOf(name)
	if err != nil {
		return err
	}
	if err := t.SignIn(ctx); err != nil {
		return fmt.Errorf("sign in to %s: %w", name, signin.Failure(err))
	}
	if server := l.find(name); server != nil && l.status(name) == nil {
		return l.add(ctx, server)
	}
	l.connecting.Store(name, true)
	defer l.connecting.Delete(name)
	return l.toolset.Refresh(ctx, name)
}

// login is the command /login.
func (l *Servers) login(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("usage: /login SERVER")
	}
	if err := l.signIn(ctx, name); err != nil {
		return err
	}
	return l.afterConnect(ctx, name, "you are signed in to")
}

// logout is the command /logout: it forgets the token of a server and closes its connection.
func (l *Servers) logout(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("usage: /logout SERVER")
	}
	t, err := l.signInOf(name)
	if err != nil {
		return err
	}
	_ = l.toolset.Remove(name) // fails if the server was removed before
	if err := t.SignOut(ctx); err != nil {
		return fmt.Errorf("sign out of %s: %w", name, err)
	}
	l.screen.Note(screen.Faint, "you are signed out of %s, and its tools are gone; /login %s brings them back",
		name, name)
	return l.makeAgent(ctx)
}
