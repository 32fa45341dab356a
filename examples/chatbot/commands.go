package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// commandList is what the program itself can be told.
const commandList = `/tools            list the tools
/resources        list the resources
/read URI         show a resource
/prompts          list the prompts, with optional arguments in [brackets]
/prompt NAME k=v  ask with a prompt of a server
/clear            forget the conversation
/quit             leave`

// errQuit says that the person wants to leave.
var errQuit = errors.New("quit")

// isCommand tells a command from a question that begins with a path.
func isCommand(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/")
}

// command does what the person asks of the program instead of the model.
// Ctrl-C ends it like a turn. What went wrong was reported when it returns.
func (s *session) command(ctx context.Context, text string) error {
	ctx, done := s.signals.turn(ctx)
	defer done()
	err := s.obey(ctx, strings.TrimSpace(text))
	switch {
	case err == nil, err == errQuit, err == errReported, err == errInterrupted, isQuit(err):
		return err
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return s.report(err)
}

func (s *session) obey(ctx context.Context, text string) error {
	words := strings.Fields(text)
	argument := strings.TrimSpace(strings.TrimPrefix(text, words[0]))
	switch words[0] {
	case "/help":
		s.con.list(s.con.style.faint, "%s", commandList)
	case "/tools":
		s.listTools()
	case "/resources":
		return s.listResources(ctx)
	case "/read":
		if argument == "" {
			return errors.New("usage: /read URI; /resources lists them")
		}
		return s.readResource(ctx, argument)
	case "/prompts":
		return s.listPrompts(ctx)
	case "/prompt":
		return s.askPrompt(ctx, words[1:])
	case "/clear":
		s.history = nil
		s.con.note(s.con.style.faint, "the conversation is forgotten")
	case "/quit":
		return errQuit
	default:
		return fmt.Errorf("no command %s; /help lists them", oneLine(words[0], 40))
	}
	return nil
}

// item shows one thing that a server offers.
func (s *session) item(name, server, about string) {
	s.con.list(s.con.style.tool, "%s (%s) %s", oneLine(name, 200), server, oneLine(about, 200))
}

func (s *session) listTools() {
	for _, server := range s.tools.Servers() {
		for _, t := range server.Tools {
			s.item(t.Name(), server.Name, t.Definition().Description)
		}
	}
}

// offering are the servers that offer something.
func (s *session) offering(offers func(mcpclient.ServerCapabilities) bool) []adapter.ServerStatus {
	return slices.DeleteFunc(s.tools.Servers(), func(status adapter.ServerStatus) bool {
		return status.Err != nil || !offers(status.Client.Server().Capabilities)
	})
}

func withResources(c mcpclient.ServerCapabilities) bool { return c.Resources != nil }
func withPrompts(c mcpclient.ServerCapabilities) bool   { return c.Prompts != nil }

func (s *session) listResources(ctx context.Context) error {
	for _, server := range s.offering(withResources) {
		for r, err := range server.Client.Resources(ctx) {
			if err != nil {
				return fmt.Errorf("server %s: %w", server.Name, err)
			}
			s.item(r.URI, server.Name, r.Title)
		}
	}
	return nil
}

// readResource asks the servers in turn for a resource, as the URI does not
// tell whose it is.
func (s *session) readResource(ctx context.Context, uri string) error {
	err := errors.New("no server offers resources")
	for _, server := range s.offering(withResources) {
		var result *mcpclient.ReadResourceResult
		if result, err = server.Client.ReadResource(ctx, uri); err != nil {
			continue
		}
		for _, c := range result.Contents {
			if c.Blob != nil {
				s.con.list(s.con.style.faint, "[%s, %d bytes]", oneLine(c.MIMEType, 80), len(c.Blob))
				continue
			}
			s.con.list(s.con.style.tool, "%s", shown(c.Text))
		}
		return nil
	}
	return err
}

func (s *session) listPrompts(ctx context.Context) error {
	for _, server := range s.offering(withPrompts) {
		for p, err := range server.Client.Prompts(ctx) {
			if err != nil {
				return fmt.Errorf("server %s: %w", server.Name, err)
			}
			s.item(promptUsage(p), server.Name, p.Description)
		}
	}
	return nil
}

// promptUsage is what to type after /prompt.
func promptUsage(p *mcpclient.Prompt) string {
	usage := p.Name
	for _, a := range p.Arguments {
		if a.Required {
			usage += " " + a.Name + "=…"
		} else {
			usage += " [" + a.Name + "=…]"
		}
	}
	return usage
}

// askPrompt asks the model with what a server's prompt says.
func (s *session) askPrompt(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return errors.New("usage: /prompt NAME key=value …; /prompts lists them")
	}
	given, err := promptArguments(words[1:])
	if err != nil {
		return err
	}
	err = errors.New("no server offers prompts")
	for _, server := range s.offering(withPrompts) {
		var result *mcpclient.GetPromptResult
		if result, err = server.Client.GetPrompt(ctx, words[0], given); err != nil {
			continue
		}
		var texts []string
		for _, m := range result.Messages {
			texts = append(texts, contentText([]mcpclient.Content{m.Content}))
		}
		question := strings.Join(texts, "\n")
		s.con.note(s.con.style.person, "%s", question)
		return s.turn(ctx, question)
	}
	return err
}

// promptArguments reads key=value pairs; a word without = goes on the value
// before it.
func promptArguments(words []string) (map[string]string, error) {
	given := map[string]string{}
	last := ""
	for _, w := range words {
		key, value, found := strings.Cut(w, "=")
		switch {
		case found && key != "":
			given[key], last = value, key
		case last != "":
			given[last] += " " + w
		default:
			return nil, fmt.Errorf("want key=value, got %s", oneLine(w, 80))
		}
	}
	return given, nil
}
