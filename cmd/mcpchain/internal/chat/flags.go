package chat

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/revisions"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/usage"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/models"
)

const help = `Chat talks to a model that uses the tools of MCP servers.

	mcpchain chat [flags]

On a terminal it is a conversation. From a pipe every line is one turn; answers
go to standard output, everything else to standard error.

Without flags it starts a demo server and a demo model that follows fixed rules,
both on this machine: it needs no key and no configuration. Without -config, a real
model gets the servers of ./mcp.json, if you allow it, or of mcpchain/mcp.json in
your configuration folder.

Flags:
%s
Lines that begin with a slash are for the program itself, typed, piped, or as
the text of -prompt:

%s

What comes on standard input, up to 1 MiB, is added to the text of -prompt, below
it: git diff | mcpchain chat -prompt 'review this'.

With -json a turn is one object, also if it fails:
  answer       what the model said, or the result of a command
  stop_reason  answer, a limit such as max_turns, error, or command
  error        null, or why there is no answer
  model        the model that answered
  usage        model_calls, input_tokens, output_tokens, cached_tokens,
               reasoning_tokens, and cost_micros by currency
  calls        of tools: server, tool, id, arguments, denied, is_error, text,
               duration_ms
  problems     servers that are left out, calls and forms that were refused
  duration_ms
Everything else goes to standard error. Wrong usage has no object.

A call of a server ends after -idle-timeout without an answer or progress, and
always after -call-timeout; the model has 10 minutes for each try. The time of a
question to the person does not count.

Models of several endpoints stand in a file, and -model takes a name of it:

	{"default": "small", "models": {
	  "small": {"baseUrl": "http://localhost:11434/v1", "model": "qwen3", "window": 32768},
	  "big": {"baseUrl": "https://api.openai.com/v1", "model": "gpt-6-astra", "apiKey": "${KEY}", "effort": "high"}}}

A model there may also have api, host, maxTokens, extra and price, as the flags say.

Environment: OPENAI_BASE_URL and OPENAI_MODEL replace the flags, and
OPENAI_API_KEY is the key of the endpoint. NO_COLOR turns colours off.

On a terminal Alt-Enter, Ctrl-J or a backslash at the end begins another line, the
arrows bring back what was typed before, Ctrl-R searches it, and Ctrl-G opens $EDITOR.
Tab completes commands, prompts with their arguments, and after an @ files and resources
of servers; what is named so goes into the question. Conversations,
approvals for later and what was typed are kept in the user's configuration
folder, in mcpchain/chatbot. With TERM=dumb the program writes plain lines.

Ctrl-C clears the line, or ends the turn; a second one at once ends the program. While the program starts,
and with -prompt, the first Ctrl-C ends the program.

Exit status: 2 if the command line is wrong, or if the file of servers or of
models cannot be read as a whole; 1 if the program could not start for another
reason; 130 after Ctrl-C ended the program. On a pipe and with -prompt also 1 if
  - a turn or a command failed,
  - there are servers, and none of them could be reached,
  - tool calls were denied because no person could be asked, and none ran,
  - a form was declined because no person could be asked and -answer did not
    complete it.
Otherwise 0.
`

// options are the settings of the flags and the environment.
type options struct {
	model                 *models.Flags
	config                string // noConfig for no servers, "" to look for a file
	demo                  bool
	prompt                string
	oneShot               bool
	json                  bool
	yes                   bool
	resume                bool
	answers               answers.Answers
	trace                 string
	connectTimeout        time.Duration
	idleTimeout           time.Duration
	callTimeout           time.Duration
	revisions             revisions.Flag
	noInstructions        bool
	demoModel, demoServer bool // run only the demo
}

// noConfig is the -config for no servers.
const noConfig = "none"

// wrong is a mistake on the command line.
func wrong(reason string) error { return &usage.Error{Command: "chat", Reason: reason} }

// declare returns the flags; they write to o.
func (o *options) declare(getenv func(string) string) *flag.FlagSet {
	flags := flag.NewFlagSet("chat", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.model = models.Declare(flags, getenv)
	flags.StringVar(&o.config, "config", "", "`file` with the servers, an mcp.json of any program; none: no servers")
	flags.BoolVar(&o.demo, "demo", false, "use the demo server, also with a real model")
	flags.StringVar(&o.prompt, "prompt", "", "ask this `text` and end")
	flags.BoolVar(&o.json, "json", false, "write each turn as one JSON object on a line of standard output")
	flags.BoolVar(&o.yes, "yes", false, "allow every tool call, and every use of the model by a server")
	flags.BoolVar(&o.resume, "continue", false, "go on with the newest conversation of this folder, also in the middle of a turn")
	flags.Var(o.answers, "answer", "`key=value` for a field of a server's form, or server/key=value if there are several; may be repeated")
	flags.StringVar(&o.trace, "trace", "", "append events to `file`, one JSON object on each line")
	flags.DurationVar(&o.connectTimeout, "connect-timeout", 30*time.Second, "`duration` for each server to get ready, default 30s")
	flags.DurationVar(&o.idleTimeout, "idle-timeout", 5*time.Minute, "`duration` without an answer or progress that ends a call of a server, default 5m")
	flags.DurationVar(&o.callTimeout, "call-timeout", time.Hour, "`duration` that ends a call of a server in any case, default 1h")
	flags.Var(o.revisions, "revision", revisions.Usage)
	flags.BoolVar(&o.noInstructions, "no-instructions", false, "do not give the servers' instructions to the model")
	flags.BoolVar(&o.demoModel, "demo-model", false, "only serve the demo model over HTTP, for other programs: it knows the tools of the demo server, calls others by 'call TOOL {…}', and gives no structured answers")
	flags.BoolVar(&o.demoServer, talk.DemoServerFlag, false, "only be the demo server, on standard input and output")
	return flags
}

// parseFlags reads the command line. Its error is flag.ErrHelp, with the help
// written to out, or a *[usage.Error].
func parseFlags(args []string, getenv func(string) string, out io.Writer) (*options, error) {
	o := &options{answers: answers.Answers{}, revisions: revisions.Flag{}}
	flags := o.declare(getenv)
	err := flags.Parse(args)
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(out, help, usage.Flags(flags), hosttext.Indent(talk.Commands()))
		return nil, err
	case err != nil:
		return nil, wrong(err.Error())
	case flags.NArg() > 0:
		return nil, wrong(fmt.Sprintf("unexpected argument %q; a question goes into -prompt", flags.Arg(0)))
	case o.demo && o.config != "":
		return nil, wrong("-demo and -config name two sets of servers")
	case given["prompt"] && strings.TrimSpace(o.prompt) == "":
		return nil, wrong("-prompt is empty")
	case o.json && o.resume:
		return nil, wrong("-json is for scripts, and -continue for a conversation on a terminal")
	case given["prompt"] && o.resume:
		return nil, wrong("-continue and -prompt are for two kinds of use: a conversation, and a single question")
	case o.connectTimeout <= 0:
		return nil, wrong("-connect-timeout is not above zero")
	case o.idleTimeout <= 0:
		return nil, wrong("-idle-timeout is not above zero")
	case o.callTimeout <= 0:
		return nil, wrong("-call-timeout is not above zero")
	case o.demoModel && o.demoServer:
		return nil, wrong("-demo-model and -demo-server are two programs")
	case o.demoModel || o.demoServer:
		return o, nil
	}
	o.oneShot = given["prompt"]
	if err := o.model.Complete(); err != nil {
		return nil, wrong(err.Error())
	}
	return o, nil
}

// catalog is the file of models, for a conversation.
type catalog struct {
	file   *models.File
	getenv func(string) string
}

// Names implements [talk.Catalog].
func (c catalog) Names() []string {
	if c.file == nil {
		return nil
	}
	return c.file.Names()
}

// Find implements [talk.Catalog].
func (c catalog) Find(name string) (m models.Model, found bool, err error) {
	if c.file == nil {
		return m, false, nil
	}
	return c.file.Find(name, c.getenv)
}
