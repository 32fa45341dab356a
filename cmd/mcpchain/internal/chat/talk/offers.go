package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/templates"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// offering returns the connected servers with a capability.
func (s *Session) offering(offers func(mcp.ServerCapabilities) bool) []adapter.ServerStatus {
	return slices.DeleteFunc(s.tools.Servers(), func(status adapter.ServerStatus) bool {
		return status.Client == nil || !offers(status.Client.Server().Capabilities)
	})
}

func withResources(c mcp.ServerCapabilities) bool { return c.Resources != nil }
func withPrompts(c mcp.ServerCapabilities) bool   { return c.Prompts != nil }

// listResources is the command /resources.
func (s *Session) listResources(ctx context.Context, _ string) error {
	for _, server := range s.offering(withResources) {
		for r, err := range server.Client.Resources(ctx) {
			if err != nil {
				return fmt.Errorf("server %s: %w", server.Name, err)
			}
			s.listItem(r.URI, server.Name, r.Title)
		}
		for t, err := range templates.List(ctx, server.Client) {
			if err != nil {
				return fmt.Errorf("server %s: %w", server.Name, err)
			}
			s.listItem(t.URITemplate, server.Name, "template: "+cmp.Or(t.Title, t.Name))
		}
	}
	return nil
}

// readResource is the command /read.
func (s *Session) readResource(ctx context.Context, argument string) error {
	servers := s.offering(withResources)
	server, uri, err := cutServer(servers, resources.plural, argument)
	switch {
	case err != nil:
		return err
	case uri == "":
		return errors.New("usage: /read URI; /resources lists them")
	case server == nil:
		if server, err = resources.owner(ctx, servers, uri); err != nil {
			return err
		}
	}
	result, err := server.Client.ReadResource(ctx, uri)
	if err != nil {
		return fmt.Errorf("server %s: %w", server.Name, err)
	}
	s.Screen.Note(screen.Faint, "%s of the server %s:", hosttext.Line(uri, 200), server.Name)
	for _, c := range result.Contents {
		switch {
		case c.Blob != nil && s.saveBlob(server.Name, uri, c.Blob):
		case c.Blob != nil:
			s.Screen.List(screen.Faint, "[%s, %d bytes]", hosttext.Line(c.MIMEType, 80), len(c.Blob))
		case s.Screen.Attended():
			s.Screen.Note(screen.Tool, "%s", hosttext.Block(c.Text, screen.MaxShown))
		default:
			s.Screen.Deliver(c.Text)
		}
	}
	return nil
}

// cutServer cuts the name of a server from the beginning of an argument, as in "@files file:///a". It returns nil if the
// argument names none. what says in errors what the servers have, such as "resources".
func cutServer(servers []adapter.ServerStatus, what, argument string) (server *adapter.ServerStatus, rest string, err error) {
	named, ok := strings.CutPrefix(argument, "@")
	if !ok {
		return nil, argument, nil
	}
	for i, s := range servers {
		after, ok := strings.CutPrefix(named+" ", s.Name+" ")
		if ok && (server == nil || len(s.Name) > len(server.Name)) { // names may have spaces
			server, rest = &servers[i], strings.TrimSpace(after)
		}
	}
	if server == nil {
		return nil, "", fmt.Errorf("no server with %s is called %s", what, hosttext.Line(named, 80))
	}
	return server, rest, nil
}

// offer is what servers list by names: resources or prompts.
type offer struct {
	plural  string
	command string // takes a name
	has     func(ctx context.Context, c *mcpclient.Client, name string) (bool, error)
}

var (
	resources = offer{plural: "resources", command: "/read", has: hasResource}
	prompts   = offer{plural: "prompts", command: "/prompt", has: hasPrompt}
)

// owner finds the server that lists a name. If several do, perhaps with bad intent, the person has to say which one is
// meant. The name may be private, so it is not sent to servers.
func (o *offer) owner(ctx context.Context, servers []adapter.ServerStatus, name string) (*adapter.ServerStatus, error) {
	switch len(servers) {
	case 0:
		return nil, fmt.Errorf("no server offers %s", o.plural)
	case 1:
		return &servers[0], nil // a server may have unlisted names
	}
	var names, owners []string
	var owner *adapter.ServerStatus
	var errs []error
	for i, s := range servers {
		names = append(names, s.Name)
		found, err := o.has(ctx, s.Client, name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("server %s: %w", s.Name, err))
		case found:
			owner, owners = &servers[i], append(owners, s.Name)
		}
	}
	switch {
	case len(owners) == 1:
		return owner, nil
	case len(owners) > 1:
		return nil, fmt.Errorf("several servers have it: %s; say which, as in %s @%s %s", strings.Join(owners, ", "), o.command, owners[0], name)
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	}
	return nil, fmt.Errorf("no server lists it: say whose it is, as in %s @%s %s; there are %s", o.command, names[0], name, strings.Join(names, ", "))
}

// hasResource reports whether a server lists a URI, or a template that begins like it.
func hasResource(ctx context.Context, c *mcpclient.Client, uri string) (bool, error) {
	for r, err := range c.Resources(ctx) {
		if err != nil {
			return false, err
		}
		if r.URI == uri {
			return true, nil
		}
	}
	for t, err := range templates.List(ctx, c) {
		if err != nil {
			return false, err
		}
		if before, _, _ := strings.Cut(t.URITemplate, "{"); strings.HasPrefix(uri, before) {
			return true, nil
		}
	}
	return false, nil
}
