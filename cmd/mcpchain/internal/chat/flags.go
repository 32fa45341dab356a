package chat

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/models"
)

const about = `
On a terminal this is a conversation. From a pipe, each line is a question; answers go to standard
output, everything else to standard error. With -prompt, standard input, up to 1 MiB, is added to
the question.

Without flags it uses a demo server and a demo model with fixed rules, both on this machine, so
that you need no API key and no configuration.

A call to a server ends after -idle-timeout without an answer or progress, and in any case after
-call-timeout. An attempt to reach the model may take 10 minutes. The time of questions to you does
not count.`

const keys = `
Alt-Enter or Ctrl-J begins another line, and the arrow keys show earlier input. Tab completes
commands, prompts with their arguments and, after an @, files and resources of servers, which become
part of the question. What you enter while the model works is asked after its answer: Up or Esc takes
it back, and so does Ctrl-C, which ends the turn.
With TERM=dumb the program writes plain lines.

Ctrl-C clears the line, or ends the turn; pressed twice, it ends the program. While the program
starts, and with -prompt, the first Ctrl-C ends the program.`

const objects = `
answer       the model's answer, or the result of a command
stop_reason  answer, length if the answer is cut off, a limit such as max_turns, error, or command
error        null, or why there is no answer
model        the model that answered
usage        model_calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, and
             cost_micros by currency
calls        of tools: server, tool, id, arguments, denied, is_error, text, duration_ms
problems     servers that are left out, refused calls and forms
duration_ms
Everything else goes to standard error. An invalid command line writes no object.`

const files = `
mcp.json, models.json
    your servers and models
tokens
    tokens of sign-ins to servers
chatbot
    conversations, permanent decisions, input history, pictures of servers`

const aboutModels = `
{"default": "small", "models": {
  "small": {"baseUrl": "http://localhost:11434/v1", "model": "qwen3", "window": 32768},
  "big": {"baseUrl": "https://api.openai.com/v1", "model": "gpt-6-astra", "apiKey": "${KEY}", "effort": "high"}}}
An entry may also have api, host, maxTokens, extra and price, like the flags.`

const examples = `
mcpchain
    a conversation with the demo model
mcpchain chat -base-url http://localhost:11434/v1 -model qwen3 -config mcp.json
    your own model and servers
git diff | mcpchain chat -yes -prompt 'review this'
    one question in a script`

// failed specifies when the exit status is 1.
const failed = `a turn or a command failed, no server could be reached, or a call or a form needed a person`

// options are the settings of the flags and the environment.
type options struct {
	prompt  string
	oneShot bool // -prompt is given
	json    bool
	yes     bool
	resume  bool
	answers answers.Answers

	model          *models.Flags
	config         string // may be [cli.NoServers]; "": a file is looked for
	demo           bool
	timeouts       cli.Timeouts
	revisions      cli.Revisions
	noInstructions bool

	database string // keeps conversations; "": in the configuration folder
}

// Command returns the command chat.
func Command() *cli.Command {
	c, _ := declare(os.Getenv)
	c.Main = Main
	return c
}

// declare returns the command, and the options that its flags set.
func declare(getenv func(string) string) (*cli.Command, *options) {
	o := &options{answers: answers.Answers{}, revisions: cli.Revisions{}}
	c := cli.New("chat", "chat with a model that uses your servers, in a terminal or a script")
	c.Synopsis, c.About = []string{"[chat] [flags]"}, about
	c.Group("Questions and answers", func(flags *flag.FlagSet) {
		flags.StringVar(&o.prompt, "prompt", "", "ask this `text` and end")
		flags.BoolVar(&o.json, "json", false, "write each turn as one JSON object on a line of standard output")
		flags.BoolVar(&o.yes, "yes", false, "allow every tool call, and every use of the model by a server")
		flags.BoolVar(&o.resume, "continue", false,
			"continue the newest conversation of this folder, even in the middle of a turn")
		flags.Var(o.answers, "answer", answers.Usage)
	})
	o.model = c.ModelFlags(getenv)
	c.ConfigFlag(&o.config, "with your own model ./mcp.json, if you allow it, "+
		"or mcp.json in your configuration folder; otherwise the demo server")
	c.TimeoutFlags(&o.timeouts)
	c.RevisionFlag(o.revisions)
	c.Group(cli.GroupServers, func(flags *flag.FlagSet) {
		flags.BoolVar(&o.demo, "demo", false, "use the demo server, even with a real model")
		flags.BoolVar(&o.noInstructions, "no-instructions", false, "do not pass the servers' instructions to the model")
	})
	c.StoreFlag(&o.database, "conversations", cli.StoreAny, "chatbot/conversations.db")
	c.Sections = []cli.Section{
		{Title: "Commands, which can be typed, piped, or the text of -prompt", Text: talk.Commands()},
		{Title: "Keys", Text: keys},
		{Title: "With -json, each turn is an object, even if it fails", Text: objects},
		{Title: "A file for -models", Text: aboutModels},
		cli.Files(files),
		cli.Environment("NO_COLOR\n    turns colours off\n"),
		cli.Statuses(map[int]string{1: failed, 130: "Ctrl-C ended the program"}),
		{Title: "Examples", Text: examples},
	}
	return c, o
}

// parseFlags reads the command line, and returns the errors of [cli.Command.Arguments].
func parseFlags(args []string, getenv func(string) string, out io.Writer) (*options, error) {
	c, o := declare(getenv)
	words, err := c.Arguments(args, out)
	switch {
	case err != nil:
		return nil, err
	case len(words) > 0 && filepath.Ext(words[0]) == ".json":
		return nil, c.Wrong("unexpected argument %q; a file of servers goes into -config", words[0])
	case len(words) > 0:
		return nil, c.Wrong("unexpected argument %q; a question goes into -prompt", words[0])
	case o.demo && o.config != "":
		return nil, c.Wrong("-demo and -config name two sets of servers")
	case c.Given("prompt") && strings.TrimSpace(o.prompt) == "":
		return nil, c.Wrong("-prompt is empty")
	case o.json && o.resume:
		return nil, c.Wrong("-json is for scripts, and -continue for a conversation on a terminal")
	case c.Given("prompt") && o.resume:
		return nil, c.Wrong("-continue and -prompt are for two kinds of use: a conversation, and a single question")
	}
	if err := c.Positive("connect-timeout", "idle-timeout", "call-timeout"); err != nil {
		return nil, err
	}
	o.oneShot = c.Given("prompt")
	if err := o.model.Complete(); err != nil {
		return nil, c.Refuse(err)
	}
	return o, nil
}

// wrong returns the error for a wrong command line.
func wrong(reason string) error { return &cli.Error{Command: "chat", Reason: reason} }
