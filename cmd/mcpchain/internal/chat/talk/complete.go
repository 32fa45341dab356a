package talk

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	completionWait = 3 * time.Second // for answers of servers
	maxCompleted   = 200             // items of a server, and files of a folder
	maxItemText    = 300             // characters; longer items are left out
)

// complete completes a command, its argument, or a mention of a file or resource. It takes at most completionWait.
func (s *Session) complete(ctx context.Context, before string) screen.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionWait)
	defer cancel()
	if !strings.HasPrefix(before, "/") || !IsCommand(before) || strings.Contains(before, "\n") {
		return s.attachments.completeMention(ctx, before)
	}
	name, argument, found := strings.Cut(before, " ")
	if !found {
		return screen.Completion{Items: s.commandNames()}
	}
	for _, command := range s.commands() {
		if command.name() == name && command.complete != nil {
			argument = strings.TrimLeft(argument, " ")
			c := command.complete(ctx, argument)
			c.From += len(before) - len(argument)
			return c
		}
	}
	return screen.Completion{}
}

// completeMention completes an unfinished mention at the end of a text.
func (a *attachments) completeMention(ctx context.Context, before string) screen.Completion {
	at := unfinishedMention.FindStringSubmatchIndex(before)
	if at == nil {
		return screen.Completion{}
	}
	c := a.complete(ctx, strings.TrimPrefix(before[at[2]:], `"`))
	c.From += at[2]
	return c
}

// unfinishedMention matches an unfinished mention at the end of a text.
var unfinishedMention = regexp.MustCompile(`(?:^|[\s(])@("[^"\n]*|[^\s"]*)$`)

// commandNames returns the commands, with their arguments and what they do.
func (s *Session) commandNames() (items []screen.Item) {
	for _, c := range s.commands() {
		name, argument, _ := strings.Cut(c.synopsis, " ")
		items = append(items, screen.Item{Text: name, About: strings.TrimPrefix(argument+": "+c.about, ": ")})
	}
	return items
}

// addItem appends an item, unless its text has characters that cannot be typed or seen. open says
// that more text follows the item.
func addItem(items []screen.Item, text, about string, open bool) []screen.Item {
	if text == "" || hosttext.Line(text, maxItemText) != text || screen.CleanInput(text) != text {
		return items
	}
	return append(items, screen.Item{Text: text, About: hosttext.Line(about, 200), Open: open})
}

// items asks servers concurrently, and returns the names that they list before the context ends, in
// order. prefix returns what precedes the names of a server. Templates have no name.
func (o *offer) items(
	ctx context.Context, servers []adapter.ServerStatus, prefix func(server string) string,
) (items []screen.Item) {
	var mu sync.Mutex // guards items
	var wg sync.WaitGroup
	for _, server := range servers {
		wg.Go(func() {
			all, _ := o.list(ctx, server.Client) // an error ends the list
			mu.Lock()
			defer mu.Unlock()
			for _, e := range all[:min(len(all), maxCompleted)] {
				if e.name != "" {
					items = addItem(items, prefix(server.Name)+e.name, e.about, false)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(items, func(a, b screen.Item) int { return cmp.Compare(a.Text, b.Text) })
	return items
}

// complete completes the name in the argument of a command. If there are several servers, "@SERVER"
// before the name says which one is meant.
func (o *offer) complete(ctx context.Context, servers []adapter.ServerStatus) screen.Completion {
	return screen.Completion{Items: o.items(ctx, servers, func(server string) string {
		if len(servers) < 2 {
			return ""
		}
		return "@" + server + " "
	})}
}

// completeResource completes the argument of /read.
func (o *offers) completeResource(ctx context.Context, _ string) screen.Completion {
	return resources.complete(ctx, o.servers(&resources))
}

// completePrompt completes the argument of /prompt: a name, and arguments with their values.
func (o *offers) completePrompt(ctx context.Context, argument string) (c screen.Completion) {
	servers := o.servers(&prompts)
	server, text, err := prompts.cutServer(servers, argument)
	name, rest := cutName(text)
	if err != nil || rest == "" {
		return prompts.complete(ctx, servers)
	}
	rest = rest[1:]
	prompt, err := findPrompt(ctx, server.Client, name)
	if err != nil || prompt == nil {
		return c
	}
	given, err := parseArguments(rest)
	if err != nil {
		given = map[string]string{}
	}
	c.From = len(argument) - len(rest)
	if key, from := unfinishedValue(rest); key != "" {
		c.From += from
		c.Items = completePromptValue(ctx, server, prompt.Name, key, rest[from:], given)
		return c
	}
	c.From += strings.LastIndexByte(rest, ' ') + 1
	for _, a := range prompt.Arguments {
		if _, done := given[a.Name]; !done {
			about := a.Description
			if a.Required {
				about = strings.TrimSpace("(required) " + about)
			}
			c.Items = addItem(c.Items, a.Name+"=", about, true)
		}
	}
	return c
}

// unfinishedValue returns the argument whose value is being typed, "" if there is none, and the
// offset of the value. A value may contain spaces, but a space at its end begins another argument.
func unfinishedValue(rest string) (key string, from int) {
	equals := strings.LastIndexByte(rest, '=')
	if equals < 0 || strings.HasSuffix(rest, " ") {
		return "", 0
	}
	key = rest[strings.LastIndexByte(rest[:equals], ' ')+1 : equals]
	return key, equals + 1
}

// completePromptValue asks the server to complete the value of an argument, which it removes from
// given. A server that cannot, or fails, completes nothing.
func completePromptValue(
	ctx context.Context, server *adapter.ServerStatus, prompt, key, typed string, given map[string]string,
) (items []screen.Item) {
	if server.Client.Server().Capabilities.Completions == nil {
		return nil
	}
	delete(given, key)
	result, err := server.Client.Complete(ctx, &mcp.CompleteParams{
		Prompt: prompt, Argument: key, Value: typed, Filled: given,
	})
	if err != nil {
		return nil
	}
	for _, value := range result.Values {
		items = addItem(items, value, "", false)
	}
	return items
}

// complete completes a mention: a resource or a file.
func (a *attachments) complete(ctx context.Context, typed string) (c screen.Completion) {
	prefix := func(server string) string { return server + ":" }
	for _, item := range resources.items(ctx, a.offers.servers(&resources), prefix) {
		item.Text = quoted(item.Text)
		c.Items = append(c.Items, item)
	}
	for _, item := range fileCompletions(typed) {
		if item.Text = quoted(item.Text); item.Open {
			item.Text = strings.TrimSuffix(item.Text, `"`)
		}
		c.Items = append(c.Items, item)
	}
	return c
}

// quoted puts a name with spaces into quotes.
func quoted(name string) string {
	if strings.ContainsAny(name, " \t") && !strings.Contains(name, `"`) {
		return `"` + name + `"`
	}
	return name
}

// fileCompletions completes the path of a file. Hidden files are listed only after a typed dot.
func fileCompletions(typed string) (items []screen.Item) {
	dir, base := filepath.Split(typed)
	folder := cmp.Or(expandHome(dir), ".")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") != strings.HasPrefix(base, ".") {
			continue
		}
		if !strings.Contains(strings.ToLower(name), strings.ToLower(base)) {
			continue
		}
		if len(items) >= maxCompleted {
			break
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.IsDir() {
			items = addItem(items, dir+name+"/", "", true)
		} else if err == nil && info.Mode().IsRegular() {
			items = addItem(items, dir+name, formatSize(info.Size()), false)
		}
	}
	return items
}
