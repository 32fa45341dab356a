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
func (l *Servers) listTools(_ context.Context, pattern string) error {
	all, count := l.tools(), 0
	for _, t := range all {
		if isMatch(t, pattern) {
			count++
			listItem(l.screen, t.Name(), t.Server(), t.Definition().Description)
		}
	}
	switch {
	case len(all) == 0:
		l.screen.List(screen.Faint, "there are no tools")
	case count == 0:
		return fmt.Errorf("no tool fits %s; there are %d", hosttext.Line(pattern, 80), len(all))
	}
	return nil
}

// tools returns the tools of all servers.
func (l *Servers) tools() (all []*adapter.Tool) {
	for _, server := range l.toolset.Servers() {
		all = append(all, server.Tools...)
	}
	return all
}

// isMatch reports whether a tool fits a pattern, which is a part of its name or the name of its server, in any case.
func isMatch(t *adapter.Tool, pattern string) bool {
	pattern = strings.ToLower(pattern)
	return strings.ToLower(t.Server()) == pattern || strings.Contains(strings.ToLower(t.Name()), pattern) ||
		strings.Contains(strings.ToLower(t.Definition().Name), pattern)
}

// showTool is the command /tool: it shows what a server says about a tool.
func (l *Servers) showTool(_ context.Context, argument string) error {
	if argument == "" {
		return errors.New("usage: /tool NAME; /tools lists them")
	}
	all := l.tools()
	i := slices.IndexFunc(all, func(t *adapter.Tool) bool { return t.Name() == argument })
	if i < 0 {
		return fmt.Errorf("no tool %s; /tools lists them", hosttext.Line(argument, 80))
	}
	t, def := all[i], all[i].Definition()
	heading := fmt.Sprintf("%s of the server %s", hosttext.Line(def.Name, 200), t.Server())
	if t.Name() != def.Name {
		heading += ", for the model " + hosttext.Line(t.Name(), 200)
	}
	l.screen.List(screen.Plain, "%s", heading)
	l.screen.List(screen.Tool, "%s", hosttext.Block(cmp.Or(def.Description, "(no description)"), maxDescription))
	l.screen.List(screen.Plain, "Arguments:")
	l.screen.List(screen.Tool, "%s", hosttext.Indent(schemaText(def.InputSchema)))
	if len(def.OutputSchema) > 0 {
		l.screen.List(screen.Plain, "Structured result:")
		l.screen.List(screen.Tool, "%s", hosttext.Indent(schemaText(def.OutputSchema)))
	}
	for _, claim := range person.Claims(def) {
		l.screen.List(screen.Faint, "The server claims: %s.", claim)
	}
	return nil
}

// completeTool completes the arguments of /tools and /tool.
func (l *Servers) completeTool(context.Context, string) (found screen.Completion) {
	for _, t := range l.tools() {
		found.Items = addItem(found.Items, t.Name(), t.Server()+": "+t.Definition().Description, false)
	}
	slices.SortFunc(found.Items, func(a, b screen.Item) int { return cmp.Compare(a.Text, b.Text) })
	return found
}

// schemaText describes the members of an object, one on each line.
func schemaText(schema json.RawMessage) string {
	return cmp.Or(strings.Join(offering.Parameters(schema), "\n"), "(none)")
}

// permissions is the command /permissions: it lists or forgets decisions on later calls.
func (l *Servers) permissions(ctx context.Context, argument string) error {
	if l.Decisions == "" {
		return errors.New("there is no configuration folder: decisions end with the program")
	}
	store := approval.NewFiles(l.Decisions)
	if argument == "" {
		return l.listDecisions(ctx, store)
	}
	word, which, _ := strings.Cut(argument, " ")
	which = strings.TrimSpace(which)
	if word != "forget" || which == "" {
		return errors.New("usage: /permissions, or /permissions forget N")
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > len(l.decisions) {
		return fmt.Errorf("no decision %s; /permissions lists them", hosttext.Line(which, 40))
	}
	if err := store.Drop(ctx, l.decisions[n-1].Key); err != nil {
		return err
	}
	l.screen.Note(screen.Faint, "forgotten: %s", describeDecision(&l.decisions[n-1]))
	return nil
}

// listDecisions lists the decisions. Their numbers are valid until the next list.
func (l *Servers) listDecisions(ctx context.Context, store *approval.Files) (err error) {
	if l.decisions, err = store.List(ctx); err != nil {
		return err
	}
	for i, kept := range l.decisions {
		l.screen.List(screen.Tool, "%2d  %s  %s", i+1, formatTime(kept.Stored), describeDecision(&kept))
	}
	if len(l.decisions) == 0 {
		l.screen.List(screen.Faint, "nothing is decided for later calls")
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
