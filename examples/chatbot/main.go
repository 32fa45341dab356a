// Chatbot talks to a model that uses the tools of MCP servers.
//
// Without flags it starts a demo server as a child process and a demo model on
// the loopback interface, so it runs without a key, a configuration or a
// network:
//
//	printf 'What is 17 plus 25?\n' | go run ./examples/chatbot -yes
//
// The parts, in the order of a conversation: flags.go, servers.go and model.go
// choose the servers and the model, and instructions.go writes the system
// prompt; session.go takes turns, driven by input.go and interrupts.go; show.go
// puts events on console.go; approve.go and form.go ask the person; commands.go
// runs commands, and offers.go reads the resources and prompts of servers;
// trace.go keeps a record, and lacks.go the failures for the exit status.
// demo.go serves the demos to other programs.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
)

func main() {
	o, err := parseFlags(os.Args[1:], os.Getenv, os.Stdout)
	switch {
	case err != nil:
	case o.demoModel, o.demoServer:
		err = serveDemo(o)
	default:
		err = chat(o)
	}
	os.Exit(status(err, o))
}

// status reports an unreported error, and returns the exit status.
func status(err error, o *options) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errReported):
		return 1
	}
	if quit, ok := errors.AsType[*quitError](err); ok {
		return 128 + int(quit.signal)
	}
	fmt.Fprintln(os.Stderr, "chatbot:", safetext.Line(err.Error(), 4000))
	if _, ok := errors.AsType[*usageError](err); ok {
		return 2
	}
	return 1
}

// chat has one conversation.
func chat(o *options) (err error) {
	servers, wrong, err := listServers(o)
	if err != nil {
		return err
	}
	given, err := o.answers.of(namesOf(servers, wrong))
	if err != nil {
		return err
	}
	interactive := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
	con := newConsole(os.Stdout, os.Stderr, interactive)
	if interactive {
		con.width, con.wraps = terminalWidth, term.IsTerminal(int(os.Stdout.Fd()))
	}
	ctx, signals := watchSignals(con)
	defer signals.stop()
	con.in = newInput(ctx, os.Stdin, interactive)

	s := &session{con: con, in: con.in, signals: signals, lacks: &lacks{}}
	if o.trace != "" {
		if s.trace, err = openTrace(o.trace); err != nil {
			return err
		}
		defer func() {
			if failure := s.trace.close(); failure != nil {
				s.fail(failure)
				err = cmp.Or(err, errReported)
			}
		}()
	}
	model, err := openModel(o, con)
	if err != nil {
		return err
	}
	defer model.close()
	s.model = model
	p := &person{con: con, yes: o.yes, answers: given, lacks: s.lacks, tools: map[toolOf]string{}, lends: map[string]bool{}}
	if err := p.serve(servers, model, o); err != nil {
		return err
	}
	if s.tools, err = s.openServers(ctx, servers, wrong, o.connectTimeout); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer s.tools.Close()
	llm, err := openaimodel.New(model.config, model.model, nil)
	if err != nil {
		return err
	}
	s.agent, err = agent.New(llm, &agent.Options{
		System: s.systemPrompt(!o.noInstructions), Tools: []adapter.Source{s.tools}, Approve: p.approve,
	})
	if err != nil {
		return err
	}
	return s.talk(ctx, o)
}

// serve sets the handlers of servers' requests: the person, and the model.
// Calls of tools have the limits of o.
func (p *person) serve(servers []adapter.Server, model *endpoint, o *options) error {
	lent, err := sampling.New(model.config, model.model, &sampling.Options{
		Review: sampling.ReviewFuncs{Request: p.lend, Reply: p.release},
		Source: func(ctx context.Context) sampling.Source {
			from, _ := adapter.SourceFrom(ctx)
			return sampling.Source{Server: from.Server, Call: from.Call.ID}
		},
	})
	if err != nil {
		return err
	}
	for i := range servers {
		servers[i].Options = &mcpclient.Options{
			Sampling:    lender{lent},
			Elicitation: p,
			Logger:      warnings(p.con, servers[i].Name),
			Timeouts:    mcpclient.Timeouts{Idle: o.idleTimeout, Call: o.callTimeout},
		}
	}
	return nil
}

// terminalWidth is 0 if unknown.
func terminalWidth() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return width
}
