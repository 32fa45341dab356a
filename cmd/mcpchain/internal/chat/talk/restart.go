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

// restart connects to a server again, by its current entry in the file.
func (c *connections) restart(ctx context.Context, name string) error {
	if err := c.configured.reread(ctx, c.screen, name); err != nil {
		return err
	}
	i := indexOf(c.configured.Good, name)
	if i < 0 {
		return c.configured.unknownServer(name)
	}
	c.screen.Progress("connecting to %s …", name)
	for _, open := range c.statuses() {
		if open.Name == name {
			_ = c.toolset.Remove(name) // an error tells how the old connection ended
		}
	}
	c.configured.health.set(name, nil) // after the end of the old connection was noted
	if err := c.add(ctx, c.configured.Good[i]); err != nil {
		c.configured.health.set(name, err)
		return err
	}
	return c.afterConnect(ctx, name, "server")
}

// add connects to a server, also to one that is configured to be connected by its first call.
func (c *connections) add(ctx context.Context, server adapter.Server) error {
	defer c.configured.health.beginConnect(server.Name)()
	err := c.toolset.Add(ctx, server)
	if err == nil && server.Policy.Start == adapter.StartLazy {
		err = c.toolset.Refresh(ctx, server.Name) // connects
	}
	if err == nil {
		return nil
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the text of Toolset.Add, which is for programmers
	}
	return c.configured.explain(&adapter.ServerStatus{Name: server.Name, Err: err})
}

// unknownServer returns why a server cannot be restarted.
func (l *Servers) unknownServer(name string) error {
	for _, wrong := range l.Wrong {
		if wrong.Name == name {
			return wrong.Err
		}
	}
	if entry := l.entry(name); entry != nil {
		return entry.Annotate(errors.New("is disabled, and is not started"))
	}
	return fmt.Errorf("no server %s to restart; there are %s",
		hosttext.Line(name, 80), strings.Join(serverNames(l.Good), ", "))
}

// reread reads the entry of a server again, if the file has changed since. The person is told about
// other servers that were added or removed.
func (l *Servers) reread(ctx context.Context, ui screen.Screen, name string) error {
	if l.source == nil {
		return nil
	}
	again, err := l.source.Reread(ctx, ui, name)
	switch {
	case errors.Is(err, setup.ErrNotAllowed):
		return fmt.Errorf("%w: %s is left as it was", err, hosttext.Line(name, 80))
	case err != nil || again == nil:
		return err
	}
	l.reportOthers(ui, name, again)
	switch s := again.Server; {
	case s == nil && l.entry(name) == nil:
		return nil // it was never in the file
	case s == nil:
		return fmt.Errorf("%s does not name the server %s any more: it is left as it was", l.source.Path, name)
	case s.Disabled:
		return s.Annotate(errors.New("is disabled: it is left as it was"))
	case s.Err != nil:
		return s.Annotate(s.Err)
	default:
		return l.replaceEntry(ui, s)
	}
}

// replaceEntry configures a server by another entry.
func (l *Servers) replaceEntry(ui screen.Screen, s *config.Server) error {
	if err := l.authorize(s); err != nil {
		return err
	}
	note := errors.New("is new")
	if entry := l.entry(s.Name); entry != nil {
		*entry, note = *s, errors.New("is read again")
	} else {
		l.file = append(l.file, *s)
	}
	l.Wrong = slices.DeleteFunc(l.Wrong, func(wrong adapter.ServerStatus) bool { return wrong.Name == s.Name })
	server := fromEntry(s)
	if err := l.configure(&server); err != nil {
		return err
	}
	ui.Note(screen.Faint, "%v", s.Annotate(note))
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := indexOf(l.Good, s.Name); i >= 0 {
		l.Good[i] = server
	} else {
		l.Good = append(l.Good, server)
	}
	if l.Adjust == nil {
		return nil
	}
	return l.Adjust(l.Good)
}

// reportOthers tells the person which other servers were added to the file or removed from it.
func (l *Servers) reportOthers(ui screen.Screen, name string, again *setup.Update) {
	var added, removed []string
	for i := range again.All {
		if s := &again.All[i]; s.Name != name && !s.Disabled && l.entry(s.Name) == nil {
			added = append(added, hosttext.Line(s.Name, 80))
		}
	}
	for i := range l.file {
		s := &l.file[i]
		isSame := func(other config.Server) bool { return other.Name == s.Name }
		if s.Name != name && !s.Disabled && !slices.ContainsFunc(again.All, isSame) {
			removed = append(removed, hosttext.Line(s.Name, 80))
		}
	}
	if len(added) > 0 {
		ui.Note(screen.Faint, "new in %s: %s; /servers restart NAME connects to one",
			l.source.Path, strings.Join(added, ", "))
	}
	if len(removed) > 0 {
		ui.Note(screen.Faint, "not in %s any more: %s; they run until the end of the program",
			l.source.Path, strings.Join(removed, ", "))
	}
}
