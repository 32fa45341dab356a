package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// offers are the resources and prompts of the connected servers.
type offers struct {
	screen      screen.Screen
	connections *connections
	downloads   *downloads
	ask         func(context.Context, run.Message) error // asks the model
}

// servers returns the connected servers with a capability.
func (o *offers) servers(has func(mcp.ServerCapabilities) bool) []adapter.ServerStatus {
	return slices.DeleteFunc(o.connections.statuses(), func(status adapter.ServerStatus) bool {
		return status.Client == nil || !has(status.Client.Server().Capabilities)
	})
}

// hasResources and hasPrompts report whether a server offers them.
func hasResources(c mcp.ServerCapabilities) bool { return c.Resources != nil }
func hasPrompts(c mcp.ServerCapabilities) bool   { return c.Prompts != nil }

// listResources is the command /resources.
func (o *offers) listResources(ctx context.Context, _ string) error { return o.list(ctx, &resources) }

// listPrompts is the command /prompts.
func (o *offers) listPrompts(ctx context.Context, _ string) error { return o.list(ctx, &prompts) }

// list lists what the servers offer.
func (o *offers) list(ctx context.Context, kind *offer) error {
	for _, server := range o.servers(kind.capability) {
		all, err := kind.list(ctx, server.Client)
		for _, e := range all {
			listItem(o.screen, e.usage, server.Name, e.about)
		}
		if err != nil {
			return fmt.Errorf("server %s: %w", server.Name, err)
		}
	}
	return nil
}

// readResource is the command /read.
func (o *offers) readResource(ctx context.Context, argument string) error {
	servers := o.servers(hasResources)
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
	o.screen.Note(screen.Faint, "%s of the server %s:", hosttext.Line(uri, 200), server.Name)
	for _, c := range result.Contents {
		switch {
		case c.Blob != nil && o.downloads.saveBlob(server.Name, uri, c.Blob):
		case c.Blob != nil:
			o.screen.List(screen.Faint, "[%s, %d bytes]", hosttext.Line(c.MIMEType, 80), len(c.Blob))
		case o.screen.Attended():
			o.screen.Note(screen.Tool, "%s", hosttext.Block(c.Text, screen.MaxShown))
		default:
			o.screen.Deliver(c.Text)
		}
	}
	return nil
}

// cutServer cuts the name of a server from the beginning of an argument, as in "@files file:///a".
// It returns nil if the argument names none. plural names in errors what the servers have, such as
// "resources".
func cutServer(
	servers []adapter.ServerStatus, plural, argument string,
) (server *adapter.ServerStatus, rest string, err error) {
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
		return nil, "", fmt.Errorf("no server with %s is called %s", plural, hosttext.Line(named, 80))
	}
	return server, rest, nil
}

// offer is a kind of what servers list by names: resources or prompts.
type offer struct {
	plural     string
	command    string // such as /read, whose argument is a name
	capability func(mcp.ServerCapabilities) bool
	list       func(context.Context, *mcpclient.Client) ([]entry, error)
}

var (
	resources = offer{"resources", "/read", hasResources, resourceEntries}
	prompts   = offer{"prompts", "/prompt", hasPrompts, promptEntries}
)

// entry is a resource, a template of resources or a prompt in the list of a server.
type entry struct {
	name   string // "" for a template
	prefix string // how the URIs of a template begin
	usage  string // the name, with the arguments of a prompt or the variables of a template
	about  string
}

// matches reports whether a name belongs to e, or is a URI that begins like those of a template.
func (e *entry) matches(name string) bool {
	return e.name == name || e.name == "" && strings.HasPrefix(name, e.prefix)
}

// maxOffers bounds the resources, the templates and the prompts of a server that are listed.
const maxOffers = 10_000

// collectEntries converts what a server lists. After an error, also about more than maxOffers, it
// returns the entries so far.
func collectEntries[T any](all iter.Seq2[*T, error], convert func(*T) entry) (entries []entry, err error) {
	for offered, err := range all {
		if err != nil {
			return entries, err
		}
		if len(entries) == maxOffers {
			return entries, fmt.Errorf("more than %d are listed", maxOffers)
		}
		entries = append(entries, convert(offered))
	}
	return entries, nil
}

// resourceEntries lists the resources and templates of a server, after an error those so far.
func resourceEntries(ctx context.Context, c *mcpclient.Client) ([]entry, error) {
	all, err := collectEntries(c.Resources(ctx), func(r *mcp.Resource) entry {
		return entry{name: r.URI, usage: r.URI, about: cmp.Or(r.Title, r.Description)}
	})
	if err != nil {
		return all, err
	}
	more, err := collectEntries(offering.Templates(ctx, c), func(t *mcp.ResourceTemplate) entry {
		prefix, _, _ := strings.Cut(t.URITemplate, "{")
		return entry{prefix: prefix, usage: t.URITemplate, about: "template: " + cmp.Or(t.Title, t.Name)}
	})
	return append(all, more...), err
}

// promptEntries lists the prompts of a server, after an error those so far.
func promptEntries(ctx context.Context, c *mcpclient.Client) ([]entry, error) {
	return collectEntries(c.Prompts(ctx), func(p *mcp.Prompt) entry {
		return entry{name: p.Name, usage: promptUsage(p), about: cmp.Or(p.Description, p.Title)}
	})
}

// owner finds the server that lists a name. If several do, perhaps with bad intent, the person has
// to say which one is meant. The name may be private, so it is not sent to servers.
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
		all, err := o.list(ctx, s.Client)
		switch {
		case slices.ContainsFunc(all, func(e entry) bool { return e.matches(name) }):
			owner, owners = &servers[i], append(owners, s.Name)
		case err != nil:
			errs = append(errs, fmt.Errorf("server %s: %w", s.Name, err))
		}
	}
	switch {
	case len(owners) == 1:
		return owner, nil
	case len(owners) > 1:
		return nil, fmt.Errorf("several servers have it: %s; say which, as in %s @%s %s",
			strings.Join(owners, ", "), o.command, owners[0], name)
	case len(errs) > 0:
		return nil, errors.Join(errs...)
	}
	return nil, fmt.Errorf("no server lists it: say whose it is, as in %s @%s %s; there are %s",
		o.command, names[0], name, strings.Join(names, ", "))
}
