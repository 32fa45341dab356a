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
	screen    screen.Screen
	all       *Servers
	downloads *downloads
	ask       func(context.Context, run.Message) error // asks the model
}

// servers returns the connected servers that offer something of a kind.
func (o *offers) servers(kind *offer) []adapter.ServerStatus {
	return slices.DeleteFunc(o.all.toolset.Servers(), func(status adapter.ServerStatus) bool {
		return status.Client == nil || !kind.isOffered(status.Client.Server().Capabilities)
	})
}

// listResources is the command /resources.
func (o *offers) listResources(ctx context.Context, _ string) error { return o.list(ctx, &resources) }

// listPrompts is the command /prompts.
func (o *offers) listPrompts(ctx context.Context, _ string) error { return o.list(ctx, &prompts) }

// list lists what the servers offer. The error is about the servers whose lists are not whole.
func (o *offers) list(ctx context.Context, kind *offer) (wrong error) {
	for _, server := range o.servers(kind) {
		all, err := kind.list(ctx, server.Client)
		for _, e := range all {
			listItem(o.screen, e.usage, server.Name, e.about)
		}
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("server %s: %w", server.Name, err))
		}
	}
	return wrong
}

// readResource is the command /read.
func (o *offers) readResource(ctx context.Context, argument string) error {
	servers := o.servers(&resources)
	server, uri, err := resources.cutServer(servers, argument)
	switch {
	case err != nil:
		return err
	case uri == "":
		return errors.New("usage: /read URI; /resources lists them")
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
			o.screen.List(screen.Faint, "[%s, %d bytes]", hosttext.Line(cmp.Or(c.MIMEType, "unknown type"), 80), len(c.Blob))
		case o.screen.Attended():
			o.screen.Note(screen.Tool, "%s", hosttext.Block(c.Text, screen.MaxShown))
		default:
			o.screen.Deliver(c.Text)
		}
	}
	return nil
}

// cutServer cuts the name of a server from the beginning of an argument, as in "@files file:///a", and returns the end of
// the argument. The name may be missing if there is only one server: of several, each could list the name of another one's resource or prompt.
func (o *offer) cutServer(
	servers []adapter.ServerStatus, argument string,
) (server *adapter.ServerStatus, rest string, err error) {
	named, isNamed := strings.CutPrefix(argument, "@")
	var names []string
	for i, s := range servers {
		after, ok := strings.CutPrefix(named+" ", s.Name+" ")
		if ok && isNamed && (server == nil || len(s.Name) > len(server.Name)) { // names may have spaces
			server, rest = &servers[i], strings.TrimLeft(strings.TrimSuffix(after, " "), " ")
		}
		names = append(names, s.Name)
	}
	switch {
	case server != nil:
		return server, rest, nil
	case len(servers) == 0:
		return nil, "", fmt.Errorf("no server offers %s", o.plural)
	case isNamed:
		return nil, "", fmt.Errorf("no server with %s is called %s; there are %s",
			o.plural, hosttext.Line(named, 80), strings.Join(names, ", "))
	case len(servers) > 1:
		return nil, "", fmt.Errorf("say which server you mean, as in %s @%s %s; those with %s are %s",
			o.command, names[0], cmp.Or(hosttext.Line(argument, 80), "NAME"), o.plural, strings.Join(names, ", "))
	}
	return &servers[0], argument, nil
}

// offer is a kind of what servers list by names: resources or prompts.
type offer struct {
	plural    string
	command   string // such as /read, whose argument is a name
	isOffered func(mcp.ServerCapabilities) bool
	list      func(context.Context, *mcpclient.Client) ([]entry, error)
}

var (
	resources = offer{"resources", "/read",
		func(c mcp.ServerCapabilities) bool { return c.Resources != nil }, resourceEntries}
	prompts = offer{"prompts", "/prompt",
		func(c mcp.ServerCapabilities) bool { return c.Prompts != nil }, promptEntries}
)

// entry is a resource, a template of resources or a prompt in the list of a server.
type entry struct {
	name  string // "" for a template
	usage string // the name, with the arguments of a prompt or the variables of a template
	about string
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
	more, err := collectEntries(offering.Templates(c.ResourceTemplates(ctx)), func(t *mcp.ResourceTemplate) entry {
		return entry{usage: t.URITemplate, about: "template: " + cmp.Or(t.Title, t.Name)}
	})
	return append(all, more...), err
}

// promptEntries lists the prompts of a server, after an error those so far.
func promptEntries(ctx context.Context, c *mcpclient.Client) ([]entry, error) {
	return collectEntries(c.Prompts(ctx), func(p *mcp.Prompt) entry {
		return entry{name: quoted(p.Name), usage: promptUsage(p), about: cmp.Or(p.Description, p.Title)}
	})
}
