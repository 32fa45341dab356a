// The oauth example signs in to a protected MCP server, and lists its tools or calls one.
//
//	go run ./examples/oauth https://mcp.example.com/mcp
//	go run ./examples/oauth -call TOOL https://mcp.example.com/mcp
//	go run ./examples/oauth -paste https://mcp.example.com/mcp     on a machine without a browser
//	go run ./examples/oauth -sign-out https://mcp.example.com/mcp
//
// It keeps tokens in the user's configuration folder, so that the next run needs no sign-in.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := &program{you: &person{in: bufio.NewReader(os.Stdin), out: os.Stdout, open: oauth.OpenBrowser}, out: os.Stdout}
	if err := p.run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "oauth:", hosttext.Line(err.Error(), 4000))
		os.Exit(1)
	}
}

// program is the example with the person who uses it.
type program struct {
	you *person
	out io.Writer
}

// settings are the settings of the command line.
type settings struct {
	server string // its URL
	store  string // folder of tokens; "": in the configuration folder
	call   string // tool to call; "": tools are listed

	paste, signOut bool
}

// run signs in, unless there is a token, and uses the server.
func (p *program) run(ctx context.Context, args []string) (err error) {
	s, err := p.parse(args)
	if err != nil {
		return err
	}
	store, err := tokens(s)
	if err != nil {
		return err
	}
	receiver := p.you.browser()
	if s.paste {
		receiver = p.you.paste()
	}
	auth, err := oauth.New(s.server, &oauth.Options{
		Grant: &oauth.AuthorizationCode{Receiver: receiver, RegisterAs: "mcpchain example"},
		Store: store,
	})
	if err != nil {
		return err
	}
	defer auth.Close()
	if s.signOut {
		return auth.SignOut(ctx)
	}
	// Connect would ask the person, too. SignIn lets the program choose the moment.
	if err := auth.SignIn(ctx); err != nil {
		return err
	}
	client, err := mcpclient.Connect(ctx, &mcpclient.HTTP{URL: s.server, Client: auth.Client()}, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	if s.call != "" {
		return p.call(ctx, client, s.call)
	}
	return p.list(ctx, client)
}

// tokens returns the store of tokens.
func tokens(s *settings) (oauth.Store, error) {
	if s.store != "" {
		return oauth.NewFileStore(s.store)
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("%w: name a folder for tokens by -store", err)
	}
	return oauth.NewFileStore(filepath.Join(folder, "mcpchain", "tokens"))
}

// parse reads the command line. The error is flag.ErrHelp after the help was shown.
func (p *program) parse(args []string) (*settings, error) {
	s := new(settings)
	flags := flag.NewFlagSet("oauth", flag.ContinueOnError)
	flags.SetOutput(p.out)
	flags.StringVar(&s.store, "store", "", "the `folder` to keep tokens in (default: mcpchain/tokens in the user's configuration)")
	flags.StringVar(&s.call, "call", "", "the `tool` to call without arguments, instead of listing them")
	flags.BoolVar(&s.paste, "paste", false, "sign in with a browser on another device")
	flags.BoolVar(&s.signOut, "sign-out", false, "forget the token")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case s.signOut && (s.paste || s.call != ""):
		return nil, errors.New("want -sign-out without -paste and -call")
	case flags.NArg() != 1:
		return nil, errors.New("want one argument, the URL of an MCP server")
	}
	s.server = flags.Arg(0)
	return s, nil
}

// list lists the tools of the server.
func (p *program) list(ctx context.Context, client *mcpclient.Client) error {
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%s: %s\n", hosttext.Line(tool.Name, 200), hosttext.Line(tool.Description, 1000))
	}
	return nil
}

// call calls a tool without arguments.
func (p *program) call(ctx context.Context, client *mcpclient.Client, tool string) error {
	result, err := client.CallTool(ctx, tool, nil)
	if err != nil {
		return err
	}
	if err := result.Err(); err != nil { // the tool ran, and failed
		return err
	}
	fmt.Fprintln(p.out, hosttext.Prose(result.Text()))
	return nil
}
