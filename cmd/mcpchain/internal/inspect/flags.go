package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// options are the settings from the command line.
type options struct {
	file      string // the mcp.json
	server    string // the only server to use; "" for all
	json      bool   // the report is JSON, and not text
	profile   string // text of -profile: a provider, "all", or "" for none
	profiles  []profile.Profile
	model     *models.Flags // decides on the profile; nil if no model is given
	timeouts  cli.Timeouts
	budget    int64 // most tokens of all tools in a request; 0: no limit
	revisions cli.Revisions

	signIn    bool
	serverLog mcp.LogLevel // from which log messages of servers are shown; "": none
	tokens    string       // folder of the tokens of sign-ins; "" means the user's

	call, read, prompt string            // the tool, resource or prompt to request; at most one is set
	arguments          json.RawMessage   // for the tool
	promptArguments    map[string]string // for the prompt
	answers            answers.Answers   // for forms
}

// action reports whether a request to a server is wanted.
func (o *options) action() bool { return o.call != "" || o.read != "" || o.prompt != "" }

// detailed reports whether to show everything about the servers.
func (o *options) detailed() bool { return o.server != "" || len(o.profiles) > 0 }

// Command is the command line of the program.
func Command() *cli.Command {
	c, _ := declare(os.Getenv)
	c.Main = Main
	return c
}

// declare returns the flags, and the variables that they set.
func declare(getenv func(string) string) (*cli.Command, *options) {
	o := &options{revisions: cli.Revisions{}, answers: answers.Answers{}}
	c := cli.New("inspect", "check the servers of an mcp.json, and call their tools")
	c.Synopsis, c.About = []string{"inspect [mcp.json] [flags] [arguments of -call or -prompt]"}, about
	c.Group("Actions", func(flags *flag.FlagSet) {
		flags.StringVar(&o.server, "server", "", "show the details of the server with this `name`, and use no other")
		flags.StringVar(&o.call, "call", "", "call the `tool` with this name of the server; its arguments follow as a JSON object")
		flags.StringVar(&o.read, "read", "", "read the resource with this `URI`")
		flags.StringVar(&o.prompt, "prompt", "", "get this `prompt`; its arguments follow as name=value")
		flags.Var(o.answers, "answer", answers.Usage)
		flags.BoolVar(&o.signIn, "sign-in", false, "sign in to the servers that require it, in a browser here or on another device")
		flags.BoolVar(&o.json, "json", false, "write JSON: the report with all definitions, or the answer of the server")
		flags.Func("server-log", "show log messages of servers from this `level` on, on standard error: debug, info, notice, warning, error; default: none",
			func(text string) error {
				if o.serverLog = mcp.LogLevel(text); !inquiry.IsLevel(o.serverLog) {
					return errors.New("want debug, info, notice, warning or error")
				}
				return nil
			})
		flags.Int64Var(&o.budget, "tool-budget", 0, "fail if the tools of all servers take more `tokens` than this in each request to a model; default: no limit")
		flags.StringVar(&o.profile, "profile", "", "show the definitions of tools for one `provider`, or for all: all, "+profileNames())
	})
	o.model = c.ModelFlags(getenv)
	c.Lookup("model").Usage = "`name` of a model, or of an entry in -models: show the definitions of tools as they are sent to it; default: none"
	c.Group(cli.GroupServers, func(flags *flag.FlagSet) { // unlike other commands, this one needs servers
		flags.StringVar(&o.file, "config", "",
			"`file` with the servers, an mcp.json of any program; default: the first argument, or mcp.json in your configuration folder")
	})
	c.TimeoutFlags(&o.timeouts)
	c.RevisionFlag(o.revisions)
	c.Group(cli.GroupStore, func(flags *flag.FlagSet) {
		flags.StringVar(&o.tokens, "tokens", "", "`folder` for the tokens of sign-ins; default tokens in your configuration folder")
	})
	c.Sections = []cli.Section{
		cli.Files("tokens\n    tokens of sign-ins to servers\nmodels.json\n    names for -model"),
		cli.Environment(""), cli.Statuses(statuses), {Title: "Examples", Text: examples},
	}
	return c, o
}

// profileNames lists the profiles.
func profileNames() string {
	var names []string
	for _, p := range profile.All() {
		names = append(names, fmt.Sprint(p))
	}
	return strings.Join(names, ", ")
}

// parse parses the command line, and returns the errors of [cli.Command.Arguments] and [cli.Command.Refuse].
func parse(args []string, getenv func(string) string, out io.Writer) (*options, error) {
	c, o := declare(getenv)
	words, err := c.Arguments(args, out)
	if err != nil {
		return nil, err
	}
	if o.file == "" && len(words) > 0 && !o.isArgument(words[0]) {
		o.file, words = words[0], words[1:]
	}
	switch scheme, _, isURL := strings.Cut(o.file, "://"); {
	case isURL && (scheme == "http" || scheme == "https"):
		return nil, c.Wrong(`want a file: write {"mcpServers": {"NAME": {"url": %q}}} into mcp.json`, models.PublicURL(o.file))
	case o.file == cli.NoServers:
		return nil, c.Wrong("there is nothing to inspect without servers")
	case o.file == "":
		o.file = cli.Place("mcp.json")
		if _, err := os.Stat(o.file); err != nil {
			return nil, c.Wrong("want a file, such as mcp.json: there is no %s", o.file)
		}
	}
	if err := o.readArguments(words); err != nil {
		return nil, c.Wrong("%v", err)
	}
	if !c.Given("base-url") && !c.Given("model") {
		o.model = nil
	}
	if err := o.checkUses(c); err != nil {
		return nil, err
	}
	if err := o.chooseProfiles(c); err != nil {
		return nil, err
	}
	return o, c.Positive("connect-timeout", "idle-timeout", "call-timeout")
}

// checkUses returns an error for a flag that would have no effect beside the others.
func (o *options) checkUses(c *cli.Command) error {
	switch {
	case o.budget < 0:
		return c.Wrong("-tool-budget is below 0")
	case len(o.answers) > 0 && !o.action():
		return c.Wrong("-answer goes with -call, -read or -prompt")
	}
	for _, name := range []string{"tool-budget", "profile", "base-url", "model"} {
		if o.action() && c.Given(name) {
			return c.Wrong("-%s is for the report, not for -call, -read and -prompt", name)
		}
	}
	for _, name := range []string{"models", "model-api", "host", "effort", "max-tokens", "window", "extra", "prices"} {
		if o.model == nil && c.Given(name) {
			return c.Wrong("-%s goes with -base-url or -model", name)
		}
	}
	return nil
}

// isArgument reports whether a word is an argument of -call or -prompt, and not the file.
func (o *options) isArgument(word string) bool {
	name, _, isPair := strings.Cut(word, "=")
	return o.call != "" && strings.HasPrefix(word, "{") || o.prompt != "" && isPair && !strings.ContainsAny(name, `/\`)
}

// readArguments parses the words after the file.
func (o *options) readArguments(words []string) error {
	asked := slices.DeleteFunc([]string{o.call, o.read, o.prompt}, func(name string) bool { return name == "" })
	switch {
	case len(asked) > 1:
		return errors.New("give one of -call, -read and -prompt")
	case o.call != "":
		o.arguments = json.RawMessage("{}")
		if len(words) > 0 {
			o.arguments = json.RawMessage(words[0])
		}
		var object map[string]json.RawMessage
		if len(words) > 1 || json.Unmarshal(o.arguments, &object) != nil || object == nil {
			return errors.New(`-call takes one JSON object, such as '{"name":"value"}'`)
		}
		return nil
	case o.prompt != "":
		o.promptArguments = map[string]string{}
		for _, w := range words {
			name, value, found := strings.Cut(w, "=")
			if !found {
				return fmt.Errorf("-prompt: %q: want the arguments as name=value", w)
			}
			if _, twice := o.promptArguments[name]; twice {
				return fmt.Errorf("-prompt: %q is given twice", name)
			}
			o.promptArguments[name] = value
		}
		return nil
	case len(words) > 0:
		return fmt.Errorf("want one file: %q has no meaning here; -server names a server", words[0])
	}
	return nil
}

// chooseProfiles parses -profile, or the flags of a model, for [options.askModel]. Without them, JSON has all profiles, and
// text has none.
func (o *options) chooseProfiles(c *cli.Command) error {
	if o.model != nil {
		if o.profile != "" {
			return c.Wrong("the model decides on the profile: give no -profile beside it")
		}
		if m := &o.model.Model; c.Given("base-url") && m.Name == "" {
			m.Name = "any" // most profiles depend on the host only
		}
		if err := o.model.Complete(); err != nil {
			return c.Refuse(err)
		}
		return nil
	}
	if o.profile == "" && !o.json {
		return nil
	}
	for _, p := range profile.All() {
		if o.profile == "" || o.profile == "all" || o.profile == string(p) {
			o.profiles = append(o.profiles, p)
		}
	}
	if len(o.profiles) == 0 {
		return c.Wrong("-profile %s: want all, %s", o.profile, profileNames())
	}
	return nil
}

// askModel chooses the profile of the model, if one is given. It asks the endpoint for its kind of provider, as the commands do
// that use the model.
func (o *options) askModel(ctx context.Context) error {
	if o.model == nil {
		return nil
	}
	m := &o.model.Model
	if m.Host == "" {
		m.Discover(ctx)
	}
	model, err := m.Open(nil)
	if err != nil {
		return err
	}
	o.profiles = []profile.Profile{model.Info().Profile}
	return nil
}
