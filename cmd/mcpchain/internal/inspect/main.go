// Package inspect checks an mcp.json: it reports which servers can be used and why the others
// cannot, and tries out what a server offers. docs/inspect.md is its guide.
//
// A mistake in a server's entry is reported with its line and key, and does not affect other servers. The command asks
// for the inputs of VS Code's files. Tokens of sign-ins are in the user's configuration folder, or in the folder of
// -tokens.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

const about = `
Reports which servers of the file can be used, why the others cannot, and what they offer. It uses no
model. Flags may be written before or after the file. With -base-url or -model, it shows the definitions
of tools as an agent sends them to that model.

If a server asks something during a call, it shows the question. It sends a form that -answer
completes, and declines other questions.`

const examples = `
mcpchain inspect mcp.json
    a summary of all servers
mcpchain inspect mcp.json -server demo -call add '{"a":1, "b":2}'
    call a tool
mcpchain inspect mcp.json -server demo -prompt plan city=Rome
    get a prompt
mcpchain inspect mcp.json -server notes -sign-in
    sign in to a server
mcpchain inspect mcp.json -profile gemini
    the definitions for one provider`

// The exit statuses.
const (
	statusFine    = cli.StatusFine
	statusMissing = cli.StatusFailed
	statusUsage   = cli.StatusUsage
	statusSkipped = 3
	statusFailed  = 4
	statusAsked   = 5
	statusCostly  = 6
)

var statuses = map[int]string{
	statusMissing: "a server cannot be used, or has no such tool",
	statusSkipped: "all servers can be used, but not all of their tools, or the file names a tool that its server does not have",
	statusFailed:  "a tool was called and failed, or the server refused the request",
	statusAsked:   "a question of the server was declined, see -answer",
	statusCostly:  "the tools take more tokens than -tool-budget",
}

// Main runs the program, and returns its exit status.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	p := &program{user: &signin.Lines{In: os.Stdin, Out: os.Stderr, Open: oauth.OpenBrowser}, out: os.Stdout, err: os.Stderr}
	return p.run(ctx, args)
}

// program is the command with its input and output.
type program struct {
	user     *signin.Lines
	out, err io.Writer
}

// run runs the program and returns its exit status.
func (p *program) run(ctx context.Context, args []string) int {
	o, err := parse(args, os.Getenv, p.out)
	if err != nil {
		return cli.Status(err, p.err)
	}
	file, err := o.load(ctx, p.user)
	if err != nil {
		return p.fail(statusUsage, err)
	}
	if err := o.askModel(ctx); err != nil {
		return p.fail(statusUsage, err)
	}
	r, servers, err := plan(file, o)
	if err != nil {
		return p.fail(statusUsage, err)
	}
	asked := &questions{w: p.err, logLevel: o.serverLog}
	if o.action() {
		if err := r.checkOneServer(); err != nil {
			return p.fail(statusUsage, err)
		}
		if asked.given, err = o.answers.ByServer(r.enabled()); err != nil {
			return p.fail(statusUsage, err)
		}
	}
	if o.signIn {
		ctx = signin.Asking(ctx) // a call may need another sign-in
	}
	closeSignIns, err := p.signIns(ctx, file, o, r)
	defer closeSignIns()
	if err != nil {
		return p.fail(statusMissing, err)
	}
	tools, err := connect(ctx, servers, asked, o)
	if err != nil {
		return p.fail(statusMissing, err)
	}
	defer func() {
		asked.awaitLog(ctx)
		_ = tools.Close()
	}()
	if o.action() {
		return p.makeRequest(ctx, r, tools, asked, o)
	}
	if err := r.fillAll(ctx, tools, o); err != nil {
		return p.fail(statusMissing, err)
	}
	return p.report(r, o)
}

// report writes the report, and returns the exit status.
func (p *program) report(r *report, o *options) int {
	write := func() error { return r.write(p.out, o.detailed()) }
	if o.json {
		write = func() error { return cli.WriteJSON(p.out, r, "  ") }
	}
	if err := write(); err != nil {
		return p.fail(statusMissing, fmt.Errorf("write the report: %w", err))
	}
	if o.budget > 0 && r.Tokens > o.budget {
		_, _ = fmt.Fprintf(p.err, "mcpchain: the tools cost about %d tokens in each request, more than %d (-tool-budget)\n", r.Tokens, o.budget)
	}
	return r.status(o.budget)
}

// fail writes an error, and returns the status.
func (p *program) fail(status int, err error) int {
	_, _ = fmt.Fprintln(p.err, "mcpchain:", hosttext.Escape(err.Error()))
	return status
}

// load reads the file, and asks for its inputs.
func (o *options) load(ctx context.Context, you *signin.Lines) ([]config.Server, error) {
	loader := config.Loader{AllowFilters: true, AllowSignIn: true, Input: you.Input}
	if o.server != "" {
		loader.Only = []string{o.server}
	}
	return loader.Load(ctx, o.file)
}

// connect connects to the servers and lists their tools.
func connect(ctx context.Context, servers []adapter.Server, asked *questions, o *options) (*adapter.Toolset, error) {
	for i := range servers {
		client, err := apps.Declare(asked.options(servers[i].Name)) // so that servers list their views
		if err != nil {
			return nil, err
		}
		servers[i].ClientOptions = client
	}
	return adapter.Open(ctx, servers, &adapter.Options{
		Policy: adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: o.timeouts.Connect},
	})
}

// signIns gives servers over HTTP their stored tokens, and with -sign-in gets new ones. The report has failed sign-ins.
func (p *program) signIns(ctx context.Context, file []config.Server, o *options, r *report) (closeAll func(), err error) {
	var open []*oauth.Transport
	closeAll = func() {
		for _, t := range open {
			_ = t.Close()
		}
	}
	store, err := signin.Tokens(o.tokens)
	switch {
	case err != nil && (o.signIn || o.tokens != ""):
		return closeAll, fmt.Errorf("-tokens: %w", err)
	case err != nil: // as in a container whose files cannot be written
		store = oauth.NewMemoryStore()
	}
	for i := range file {
		s := &file[i]
		t, err := signin.Authorize(s, &signin.Options{Client: "mcpchain", Store: store, Receiver: p.receiver(s, o)})
		switch {
		case err != nil && (s.OAuth != nil || o.signIn):
			r.byName[s.Name].Error = s.Annotate(fmt.Errorf("sign in: %w", err)).Error()
			continue
		case err != nil || t == nil:
			continue
		}
		open = append(open, t)
		if o.signIn {
			// Sign in first: connecting does not wait long enough for a person.
			if err := t.SignIn(ctx); err != nil {
				r.byName[s.Name].Error = s.Annotate(fmt.Errorf("sign in: %w", signin.Failure(err))).Error()
			}
		}
	}
	return closeAll, ctx.Err()
}

// receiver returns what receives the answer of a sign-in.
func (p *program) receiver(s *config.Server, o *options) oauth.Receiver {
	if !o.signIn {
		return signin.NotNow(fmt.Sprintf("add the flags -sign-in -server %q, or a token in its \"headers\"", s.Name))
	}
	return &signin.Page{Port: signin.Port(s), Visit: func(ctx context.Context, v *signin.Visit) (string, error) {
		pasted, err := p.user.Visit(ctx, s.Name, v)
		if errors.Is(err, signin.ErrNoAnswer) { // the person may open the page nevertheless
			_, _ = fmt.Fprintln(p.err, "mcpchain: standard input has ended; sign in on that page, or end the program by Ctrl-C")
			<-ctx.Done()
			err = ctx.Err()
		}
		return pasted, err
	}}
}
