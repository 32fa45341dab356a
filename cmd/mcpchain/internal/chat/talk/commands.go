package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

// command is a command that the person gives by a line with a slash.
type command struct {
	synopsis string // the name and the argument
	about    string
	run      func(ctx context.Context, argument string) error

	// complete completes the argument. It may be nil.
	complete func(ctx context.Context, argument string) screen.Completion
}

// name returns the name of a command, with the slash.
func (c *command) name() string {
	name, _, _ := strings.Cut(c.synopsis, " ")
	return name
}

// commands returns all commands in the order of the help.
func (s *Session) commands() []command {
	return []command{
		{"/help", "list the commands", s.help, nil},
		{"/tools [PATTERN]", "list the tools", s.Servers.listTools, s.Servers.completeTool},
		{"/tool NAME", "show a tool: its description, its arguments",
			s.Servers.showTool, s.Servers.completeTool},
		{"/servers [restart NAME]", "list the servers, or connect to one again",
			s.Servers.manage, s.Servers.completeRestart},
		{"/resources", "list the resources, and templates of their URIs", s.offers.listResources, nil},
		{"/read URI", "show a resource", s.offers.readResource, s.offers.completeResource},
		{"/prompts", "list the prompts, optional arguments in [brackets]", s.offers.listPrompts, nil},
		{"/prompt NAME k=v", "ask with a prompt of a server", s.offers.askPrompt, s.offers.completePrompt},
		{"/permissions [forget N]", "list your permanent decisions, or forget one", s.Servers.permissions, nil},
		{"/login SERVER", "sign in to a server", s.Servers.login, s.Servers.completeSignIn},
		{"/logout SERVER", "sign out of a server, and forget its token", s.Servers.logout, s.Servers.completeSignIn},
		{"/skills", "list the skills of servers, which the model may use", s.instructions.listSkills, nil},
		{"/model [NAME]", "show the model, or switch to another one", s.model.choose, s.model.complete},
		{"/usage", "show tokens and cost of the turn and the conversation", s.conversation.showUsage, nil},
		{"/context", "show what fills the window of the model", s.conversation.showWindow, nil},
		{"/show [N]", "show the last result, or the Nth last one", s.results.show, nil},
		{"/reasoning", "show the model's reasoning before its last answer", s.conversation.showReasoning, nil},
		{"/clear", "begin another conversation", s.conversation.clear, nil},
		{"/undo", "forget the last question and its answer", s.conversation.undo, nil},
		{"/conversations", "list the stored conversations", s.archive.list, nil},
		{"/resume [N]", "continue one of that list, or the folder's newest", s.resume, nil},
		{"/quit", "end the program", s.quit, nil},
	}
}

// Commands returns the help about the commands.
func Commands() string {
	var b strings.Builder
	for _, c := range new(Session).commands() {
		fmt.Fprintf(&b, "%-24s %s\n", c.synopsis, c.about)
	}
	return b.String() + "If several servers have some, add the server, as in /read @SERVER URI."
}

// errQuit means that the person wants to quit.
var errQuit = errors.New("quit")

// IsCommand reports whether a text is a command, and not a question that may begin with a path.
func IsCommand(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/")
}

// command runs a command, and reports its failure to the person. Ctrl-C ends it like a turn.
func (s *Session) command(ctx context.Context, text string) error {
	ctx, done := s.Interrupts.beginTurn(person.InTurn(ctx))
	defer done()
	err := s.runCommand(ctx, strings.TrimSpace(text))
	switch {
	case err == nil, err == errQuit, err == ErrReported, err == errInterrupted, isQuit(err):
		return err
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return s.report(err)
}

// runCommand runs the command of a line, which begins with a slash.
func (s *Session) runCommand(ctx context.Context, text string) error {
	word := strings.Fields(text)[0]
	argument := strings.TrimSpace(strings.TrimPrefix(text, word))
	var names []string
	for _, c := range s.commands() {
		if c.name() == word {
			return c.run(ctx, argument)
		}
		names = append(names, c.name())
	}
	return fmt.Errorf("no command %s%s; /help lists them", hosttext.Line(word, 40), spelling.Hint(word, names))
}

// help is the command /help.
func (s *Session) help(context.Context, string) error {
	_, others, _ := strings.Cut(Commands(), "\n") // the first line is about /help
	for line := range strings.SplitSeq(others, "\n") {
		s.Screen.List(screen.Faint, "%s", line)
	}
	return nil
}

// quit is the command /quit.
func (s *Session) quit(context.Context, string) error { return errQuit }

// Bounds of a listed item, in characters. Most items take one row.
const (
	maxListName  = 200
	maxListAbout = 60
)

// listItem lists a prompt, resource or tool of a server.
func listItem(ui screen.Screen, name, server, about string) {
	item := fmt.Sprintf("%s (%s) %s", hosttext.Line(name, maxListName), server, hosttext.Line(about, maxListAbout))
	ui.List(screen.Tool, "%s", strings.TrimRight(item, " "))
}
