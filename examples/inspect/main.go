// Inspect shows what the servers of an mcp.json offer, how they were reached,
// and what each model provider would be sent for their tools:
//
//	inspect mcp.json
//	inspect -profile gemini mcp.json
//	inspect -profile all mcp.json
//	inspect -json mcp.json
//
// A server that is written wrong in the file is reported with its line and key,
// and does not keep the others from being looked at.
//
// The exit status is 0 when all is well, 1 when a server is written wrong or
// could not be reached, 2 when there is no report because the command line or
// the file as a whole is wrong, and 3 when all servers were reached and some of
// their tools cannot be used.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

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

// options are what the command line says.
type options struct {
	file     string
	json     bool
	profiles []adapter.Profile
	detailed bool // definitions are shown
	timeout  time.Duration
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return statusFine
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "inspect:", err)
		return statusUsage
	}
	file, err := config.Load(o.file)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "inspect:", err)
		return statusUsage
	}
	r, err := inspect(ctx, file, o)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "inspect:", err)
		return statusMissing
	}
	if o.json {
		enc := json.NewEncoder(stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(r)
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
	o := &options{}
	profile := ""
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "usage: inspect [flags] mcp.json")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.json, "json", false, "write the report as JSON, with all definitions")
	flags.StringVar(&profile, "profile", "", "show what is sent to one provider, or to all: "+fmt.Sprint(adapter.Profiles()))
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long to wait for a server")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() != 1 {
		return nil, errors.New("want one file, such as mcp.json, after the flags, which -help lists")
	}
	o.file = flags.Arg(0)
	for _, p := range adapter.Profiles() {
		if profile == "" || profile == "all" || profile == p.String() {
			o.profiles = append(o.profiles, p)
		}
	}
	if len(o.profiles) == 0 {
		return nil, fmt.Errorf("-profile %s: want all, or one of %v", profile, adapter.Profiles())
	}
	o.detailed = profile != ""
	return o, nil
}
