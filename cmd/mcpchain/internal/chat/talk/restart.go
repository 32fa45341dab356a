package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/setup"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// restartServer connects to a server again, as the file describes it at that time.
func (s *Session) restartServer(ctx context.Context, name string) error {
	if err := s.Servers.reread(ctx, s.Screen, name); err != nil {
		return err
	}
	i := slices.IndexFunc(s.Servers.Good, func(o adapter.Server) bool { return o.Name == name })
	if i < 0 {
		return s.Servers.unknownServer(name)
	}
	s.Screen.Progress("connecting to %s …", name)
	for _, open := range s.tools.Servers() {
		if open.Name == name {
			_ = s.tools.Remove(name) // an error tells how the old connection ended
		}
	}
	s.Servers.health.set(name, nil) // after the old connection has ended
	if err := s.add(ctx, s.Servers.Good[i]); err != nil {
		s.Servers.health.set(name, err)
		return err
	}
	return s.afterConnect(ctx, name, "server")
}

// add connects to a server.
func (s *Session) add(ctx context.Context, server adapter.Server) error {
	defer s.Servers.health.beginConnect(server.Name)()
	err := s.tools.Add(ctx, server)
	if err == nil && server.Policy.Start == adapter.StartLazy {
		err = s.tools.Refresh(ctx, server.Name) // the person wants the connection
	}
	if err == nil {
		return nil
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the word for programs that a server is added to a toolset
	}
	return s.Servers.explain(&adapter.ServerStatus{Name: server.Name, Err: err})
}

// unknownServer is why a server cannot be restarted.
func (l *Servers) unknownServer(name string) error {
	for _, wrong := range l.Wrong {
		if wrong.Name == name {
			return wrong.Err
		}
	}
	var names []string
	for _, server := range l.Good {
		names = append(names, server.Name)
	}
	if entry := l.entry(name); entry != nil { // neither good nor wrong
		return entry.At(errors.New("is disabled, and is not started"))
	}
	return fmt.Errorf("no server %s to restart; there are %s", hosttext.Line(name, 80), strings.Join(names, ", "))
}

// reread takes what the file says of a server, if that may have changed since it was read. The
// person is told of other servers that came and went.
func (l *Servers) reread(ctx context.Context, con screen.Screen, name string) error {
	if l.source == nil {
		return nil
	}
	again, err := l.source.Reread(ctx, con, name)
	switch {
	case errors.Is(err, setup.ErrNotAllowed):
		return fmt.Errorf("%w: %s is left as it was", err, hosttext.Line(name, 80))
	case err != nil || again == nil:
		return err
	}
	l.reportOthers(con, name, again)
	switch s := again.Server; {
	case s == nil && l.entry(name) == nil:
		return nil // it never was in the file
	case s == nil:
		return fmt.Errorf("%s does not name the server %s any more: it is left as it was", l.source.Path, name)
	case s.Disabled:
		return s.At(errors.New("is disabled: it is left as it was"))
	case s.Err != nil:
		return s.At(s.Err)
	default:
		return l.replaceEntry(con, s)
	}
}

// replaceEntry uses another entry of a server.
func (l *Servers) replaceEntry(con screen.Screen, s *config.Server) error {
	if err := l.authorize(s); err != nil {
		return err
	}
	what := "is new"
	if entry := l.entry(s.Name); entry != nil {
		*entry, what = *s, "is read again"
	} else {
		l.file = append(l.file, *s)
	}
	l.Wrong = slices.DeleteFunc(l.Wrong, func(wrong adapter.ServerStatus) bool { return wrong.Name == s.Name })
	server := serverOf(s)
	if err := l.configure(&server); err != nil {
		return err
	}
	con.Note(screen.Faint, "%v", s.At(errors.New(what)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.Good, func(o adapter.Server) bool { return o.Name == s.Name }); i >= 0 {
		l.Good[i] = server
	} else {
		l.Good = append(l.Good, server)
	}
	if l.Adjust == nil {
		return nil
	}
	return l.Adjust(l.Good)
}

// reportOthers names the servers that are new in the file, and those that it does not name any more.
func (l *Servers) reportOthers(con screen.Screen, name string, again *setup.Update) {
	var came, went []string
	for i := range again.All {
		if s := &again.All[i]; s.Name != name && !s.Disabled && l.entry(s.Name) == nil {
			came = append(came, hosttext.Line(s.Name, 80))
		}
	}
	for i := range l.file {
		s := &l.file[i]
		if s.Name != name && !s.Disabled && !slices.ContainsFunc(again.All, func(o config.Server) bool { return o.Name == s.Name }) {
			went = append(went, hosttext.Line(s.Name, 80))
		}
	}
	if len(came) > 0 {
		con.Note(screen.Faint, "new in %s: %s; /servers restart NAME connects to one", l.source.Path, strings.Join(came, ", "))
	}
	if len(went) > 0 {
		con.Note(screen.Faint, "not in %s any more: %s; they go on until the end of the program", l.source.Path, strings.Join(went, ", "))
	}
}
