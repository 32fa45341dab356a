package talk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/offering"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxDescription bounds the shown description of a tool, in characters.
const maxDescription = 2000

// listTools is the command /tools: it lists all tools, or those that match a pattern.
func (c *connections) listTools(_ context.Context, pattern string) error {
	count, all := 0, 0
	for _, server := range c.statuses() {
		for _, t := range server.Tools {
			if all++; !isMatch(t, pattern) {
				continue
			}
			count++
			listItem(c.screen, t.Name(), server.Name, t.Definition().Description)
		}
	}
	switch {
	case all == 0:
		c.screen.List(screen.Faint, "there are no tools")
	case count == 0:
		return fmt.Errorf("no tool fits %s; there are %d", hosttext.Line(pattern, 80), all)
	}
	return nil
}

// isMatch reports whether a tool fits a pattern, which is a part of its name or the name of its server, in any case.
func isMatch(t *adapter.Tool, pattern string) bool {
	pattern = strings.ToLower(pattern)
	return strings.ToLower(t.Server()) == pattern || strings.Contains(strings.ToLower(t.Name()), pattern) ||
		strings.Contains(strings.ToLower(t.Definition().Name), pattern)
}

// showTool is the command /tool: it shows what a server says about a tool.
func (c *connections) showTool(_ context.Context, argument string) error {
	if argument == "" {
		return errors.New("usage: /tool NAME; /tools lists them")
	}
	t, err := c.findTool(argument)
	if err != nil {
		return err
	}
	def := t.Definition()
	heading := fmt.Sprintf("%s of the server %s", hosttext.Line(def.Name, 200), t.Server())
	if t.Name() != def.Name {
		heading += ", for the model " + hosttext.Line(t.Name(), 200)
	}
	c.screen.List(screen.Plain, "%s", heading)
	c.screen.List(screen.Tool, "%s", hosttext.Block(cmp.Or(def.Description, "(no description)"), maxDescription))
	c.screen.List(screen.Plain, "Arguments:")
	c.screen.List(screen.Tool, "%s", hosttext.Indent(schemaText(def.InputSchema)))
	if len(def.OutputSchema) > 0 {
		c.screen.List(screen.Plain, "Structured result:")
		c.screen.List(screen.Tool, "%s", hosttext.Indent(schemaText(def.OutputSchema)))
	}
	for _, claim := range person.Claims(def) {
		c.screen.List(screen.Faint, "The server claims: %s.", claim)
	}
	return nil
}

// findTool finds a tool by its name for the model.
func (c *connections) findTool(name string) (*adapter.Tool, error) {
	for _, server := range c.statuses() {
		for _, t := range server.Tools {
			if t.Name() == name {
				return t, nil
			}
		}
	}
	return nil, fmt.Errorf("no tool %s; /tools lists them", hosttext.Line(name, 80))
}

// completeTool completes the arguments of /tools and /tool.
func (c *connections) completeTool(context.Context, string) (found screen.Completion) {
	for _, server := range c.statuses() {
		for _, t := range server.Tools {
			found.Items = addItem(found.Items, t.Name(), server.Name+": "+t.Definition().Description, false)
		}
	}
	slices.SortFunc(found.Items, func(a, b screen.Item) int { return cmp.Compare(a.Text, b.Text) })
	return found
}

// schemaText describes the members of an object, one on each line.
func schemaText(schema json.RawMessage) string {
	return cmp.Or(strings.Join(offering.Parameters(schema), "\n"), "(none)")
}

// permissions are the kept decisions on later calls, as the person sees them.
type permissions struct {
	screen  screen.Screen
	servers *Servers
	listed  []approval.StoredDecision // the last list
}

// manage is the command /permissions: it lists or forgets decisions.
func (p *permissions) manage(ctx context.Context, argument string) error {
	if p.servers.Decisions == "" {
		return errors.New("there is no configuration folder: decisions end with the program")
	}
	store := approval.NewFiles(p.servers.Decisions)
	if argument == "" {
		return p.list(ctx, store)
	}
	word, which, _ := strings.Cut(argument, " ")
	which = strings.TrimSpace(which)
	if word != "forget" || which == "" {
		return errors.New("usage: /permissions, or /permissions forget N")
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > len(p.listed) {
		return fmt.Errorf("no decision %s; /permissions lists them", hosttext.Line(which, 40))
	}
	if err := store.Drop(ctx, p.listed[n-1].Key); err != nil {
		return err
	}
	p.screen.Note(screen.Faint, "forgotten: %s", describeDecision(&p.listed[n-1]))
	return nil
}

// list lists the decisions. Their numbers are valid until the next list.
func (p *permissions) list(ctx context.Context, store *approval.Files) (err error) {
	if p.listed, err = store.List(ctx); err != nil {
		return err
	}
	for i, kept := range p.listed {
		p.screen.List(screen.Tool, "%2d  %s  %s", i+1, formatTime(kept.Stored), describeDecision(&kept))
	}
	if len(p.listed) == 0 {
		p.screen.List(screen.Faint, "nothing is decided for later calls")
	}
	return nil
}

// describeDecision describes a decision on one line.
func describeDecision(k *approval.StoredDecision) string {
	verb, what := "never", "all tools"
	if k.Decision.Allow {
		verb = "always"
	}
	if k.Key.Tool != "" {
		what = k.Key.Tool
	}
	return fmt.Sprintf("%s %s of %s (%s)", verb, hosttext.Line(what, 200), hosttext.Line(k.Key.Server, 100),
		hosttext.Line(cmp.Or(k.Key.Place, "the demo server"), 400))
}
