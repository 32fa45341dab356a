// Inspect shows the tools, prompts and resources of an mcp.json's servers, the
// connection to each, and the schemas that each model provider would get:
//
//	inspect mcp.json
//	inspect -profile gemini mcp.json
//	inspect -profile all mcp.json
//	inspect -base-url https://api.openai.com/v1 mcp.json
//	inspect -revision 2025-11-25 mcp.json
//	inspect -json mcp.json
//
// With -base-url it shows the schemas that package agent sends to an
// OpenAI-compatible endpoint. The endpoint's host or -model decides on the
// profile.
//
// A mistake in a server's entry is reported with its line and key, and does not
// affect the others.
//
// The exit status is 0 without a failure, 1 if a server has a mistake in the
// file or could not be reached, 2 if there is no report because of a mistake in
// the command line or the whole file, and 3 if all servers were reached and
// some of their tools cannot be used.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/examples/internal/revisions"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// statuses explains the exit statuses in -help.
const statuses = `Exit status: 0 without a failure; 1 if a server has a mistake in the file or could
not be reached; 2 if there is no report, as the command line or the file is wrong;
3 if some tools of the servers cannot be used.
`

// The exit statuses.
const (
	statusFine    = 0
	statusMissing = 1
	statusUsage   = 2
	statusSkipped = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are the settings of the command line.
type options struct {
	file     string
	json     bool
	profiles []adapter.Profile
	detailed bool // show definitions
	timeout  time.Duration

	revisions revisions.Flag
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusFine
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "inspect:", safetext.Exact(err.Error()))
		return statusUsage
	}
	file, err := config.Load(o.file)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "inspect:", safetext.Exact(err.Error()))
		return statusUsage
	}
	r, servers, err := plan(file, o)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "inspect:", safetext.Exact(err.Error()))
		return statusUsage
	}
	if err := r.inspect(ctx, servers, o); err != nil {
		_, _ = fmt.Fprintln(stderr, "inspect:", safetext.Exact(err.Error()))
		return statusMissing
	}
	if o.json {
		err = r.encode(stdout)
	} else {
		err = r.write(stdout, o.detailed)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "inspect: write the report:", err)
		return statusMissing
	}
	return r.status()
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{revisions: revisions.Flag{}}
	var profile, baseURL, model string
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "usage: inspect [flags] mcp.json")
		flags.PrintDefaults()
		_, _ = fmt.Fprint(stderr, statuses)
	}
	flags.BoolVar(&o.json, "json", false, "write the report as JSON, with all definitions")
	flags.StringVar(&profile, "profile", "", "show what is sent to one provider, or to all: "+fmt.Sprint(adapter.Profiles()))
	flags.StringVar(&baseURL, "base-url", "", "show what an agent sends to the OpenAI-compatible endpoint at this `URL`")
	flags.StringVar(&model, "model", "", "`name` of the model there, which matters where models are of many vendors")
	flags.Var(o.revisions, "revision", revisions.Usage)
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long a server has to get ready, and to list what it offers")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() != 1 {
		return nil, errors.New("want one file, such as mcp.json, after the flags, which -help lists")
	}
	o.file = flags.Arg(0)
	if err := endpoint(&profile, baseURL, model); err != nil {
		return nil, err
	}
	for _, p := range adapter.Profiles() {
		if profile == "" || profile == "all" || profile == string(p) {
			o.profiles = append(o.profiles, p)
		}
	}
	if len(o.profiles) == 0 {
		return nil, fmt.Errorf("-profile %s: want all, or one of %v", profile, adapter.Profiles())
	}
	o.detailed = profile != ""
	return o, nil
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
