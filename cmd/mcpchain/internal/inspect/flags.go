package inspect

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/revisions"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/usage"
)

// options are the settings of the command line.
type options struct {
	file, server string
	json         bool
	profiles     []adapter.Profile
	timeout      time.Duration
	maxTokens    int64 // of all tools in a request; 0: any number
	revisions    revisions.Flag

	signIn, paste bool
	store         string // the folder of tokens; "" means the user's

	call, read, prompt string
	arguments          map[string]any    // of the tool
	blanks             map[string]string // of the prompt
	answers            answers.Answers   // for forms
}

// action reports whether a server is asked to do something.
func (o *options) action() bool { return o.call != "" || o.read != "" || o.prompt != "" }

// detailed reports whether all about the servers is shown.
func (o *options) detailed() bool { return o.server != "" || len(o.profiles) > 0 }

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{revisions: revisions.Flag{}, answers: answers.Answers{}}
	var profile, baseURL, model string
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&o.server, "server", "", "show all about the server with this `name`, and use no other")
	flags.StringVar(&o.call, "call", "", "call this `tool` by the server's name for it; its arguments follow as a JSON object")
	flags.StringVar(&o.read, "read", "", "read the resource with this `URI`")
	flags.StringVar(&o.prompt, "prompt", "", "fill in this `prompt`; its arguments follow as name=value")
	flags.Var(o.answers, "answer", "`key=value` for a field of a form that the server asks for; may be repeated")
	flags.BoolVar(&o.signIn, "sign-in", false, "sign in to the servers that want it, in a browser")
	flags.BoolVar(&o.paste, "paste", false, "sign in with a browser on another device")
	flags.StringVar(&o.store, "store", "", "the `folder` to keep tokens in (default: mcpchain/tokens in the user's configuration)")
	flags.BoolVar(&o.json, "json", false, "write JSON: the report with all definitions, or the answer of the server")
	flags.StringVar(&profile, "profile", "", "show what is sent to one `provider`, or to all: "+fmt.Sprint(adapter.Profiles()))
	flags.StringVar(&baseURL, "base-url", "", "show what an agent sends to the OpenAI-compatible endpoint at this `URL`")
	flags.StringVar(&model, "model", "", "`name` of the model there, which matters where models are of many vendors")
	flags.Var(o.revisions, "revision", revisions.Usage)
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long a server has to get ready, and to list what it offers")
	flags.Int64Var(&o.maxTokens, "max-tokens", 0, "fail if the tools of all servers cost more `tokens` than this in each request of a model (default: any number)")
	words, err := parseAll(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprint(out, about, usage.Flags(flags), "\n", statuses)
		return nil, err
	}
	if err != nil {
		return nil, &usage.Error{Command: "inspect", Reason: err.Error()}
	}
	if len(words) == 0 {
		return nil, &usage.Error{Command: "inspect", Reason: "want a file, such as mcp.json"}
	}
	o.file = words[0]
	if err := o.readArguments(words[1:]); err != nil {
		return nil, err
	}
	if o.maxTokens < 0 || o.maxTokens > 0 && o.action() {
		return nil, errors.New("-max-tokens is above 0, and not for -call, -read and -prompt")
	}
	if len(o.answers) > 0 && !o.action() {
		return nil, errors.New("-answer goes with -call, -read or -prompt")
	}
	if err := endpoint(&profile, baseURL, model); err != nil {
		return nil, err
	}
	return o, o.chooseProfiles(profile)
}

// parseAll parses flags before, between and after the other words.
func parseAll(flags *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return words, nil
		}
		words = append(words, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// readArguments reads the words after the file.
func (o *options) readArguments(words []string) error {
	asked := 0
	for _, name := range []string{o.call, o.read, o.prompt} {
		if name != "" {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("give one of -call, -read and -prompt")
	case o.call != "" && len(words) <= 1:
		o.arguments = map[string]any{}
		if len(words) == 1 && (json.Unmarshal([]byte(words[0]), &o.arguments) != nil || o.arguments == nil) {
			return errors.New(`-call: want the arguments as one JSON object, such as '{"name":"value"}'`)
		}
		return nil
	case o.prompt != "":
		o.blanks = map[string]string{}
		for _, w := range words {
			name, value, found := strings.Cut(w, "=")
			if !found {
				return fmt.Errorf("-prompt: %q: want the arguments as name=value", w)
			}
			o.blanks[name] = value
		}
		return nil
	case len(words) > 0:
		return fmt.Errorf("want one file: %q has no meaning here; -server names a server", words[0])
	}
	return nil
}

// chooseProfiles reads -profile. JSON has all profiles by default.
func (o *options) chooseProfiles(profile string) error {
	if profile == "" && !o.json {
		return nil
	}
	for _, p := range adapter.Profiles() {
		if profile == "" || profile == "all" || profile == string(p) {
			o.profiles = append(o.profiles, p)
		}
	}
	if len(o.profiles) == 0 {
		return fmt.Errorf("-profile %s: want all, or one of %v", profile, adapter.Profiles())
	}
	return nil
}

// endpoint finds the agent's profile for an endpoint, if one is given.
func endpoint(profile *string, baseURL, model string) error {
	switch {
	case baseURL == "" && model == "":
		return nil
	case baseURL == "":
		return errors.New("-model wants the -base-url of its endpoint")
	case *profile != "":
		return errors.New("-base-url decides on the profile: give no -profile beside it")
	}
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = baseURL
	m, err := openaimodel.New(cfg, cmp.Or(model, "any"), nil)
	if err != nil {
		return fmt.Errorf("-base-url: %w", err)
	}
	*profile = m.ToolProfile()
	return nil
}
