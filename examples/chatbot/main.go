// Chatbot talks to a model that uses the tools of MCP servers.
//
// Without flags it starts a demo server as a child process and a demo model on
// the loopback interface, so it runs without a key, a configuration or a
// network:
//
//	printf 'What is 17 plus 25?\n' | go run ./examples/chatbot -yes
//
// The parts, in the order in which a conversation meets them: flags.go,
// servers.go and model.go find out what to talk to; session.go takes turns, and
// input.go and interrupts.go tell it when; show.go puts on console.go what
// happens; approve.go and form.go ask the person; commands.go is for what is
// said to the program itself; trace.go keeps a record.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/examples/internal/demoserver"
	"github.com/mcpchain/mcpchain/sampling"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == demoServerArg {
		if err := demoserver.Run(context.Background()); err != nil && !errors.Is(err, io.EOF) {
			fmt.Fprintln(os.Stderr, "demo server:", err)
			os.Exit(1)
		}
		return
	}
	o, err := parseFlags(os.Args[1:], os.Getenv, os.Stdout)
	if err == nil {
		err = run(o)
	}
	os.Exit(status(err, o))
}

// status reports an error that was not reported yet, and gives the exit status.
func status(err error, o *options) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errReported):
		return 1
	case errors.Is(err, errInterrupted):
		return 130
	}
	if quit, ok := errors.AsType[*quitError](err); ok {
		return 128 + int(quit.signal)
	}
	fmt.Fprintln(os.Stderr, "chatbot:", oneLine(err.Error(), 4000))
	if _, ok := errors.AsType[*usageError](err); ok {
		return 2
	}
	return 1
}

// run has one conversation.
func run(o *options) (err error) {
	servers, err := listServers(o)
	if err != nil {
		return err
	}
	interactive := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
	con := newConsole(os.Stdout, os.Stderr, interactive)
	ctx, signals := watchSignals(con)
	defer signals.stop()
	con.in = newInput(ctx, os.Stdin, interactive)

	s := &session{con: con, in: con.in, signals: signals}
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
	p := &person{con: con, yes: o.yes, answers: o.answers, always: map[string]bool{}}
	lent, err := sampling.New(model.config, model.model, &sampling.Options{
		Review: sampling.ReviewFuncs{Request: p.lend, Reply: p.release},
	})
	if err != nil {
		return err
	}
	if s.tools, err = openServers(ctx, servers, con, p, lent, s.trace); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer s.tools.Close()
	llm, err := openaimodel.New(model.config, model.model, nil)
	if err != nil {
		return err
	}
	s.agent, err = agent.New(llm, s.tools, &agent.Options{System: instructions(s.tools), Approve: p.approve})
	if err != nil {
		return err
	}
	if o.oneShot {
		if err := s.turn(ctx, o.prompt); err != nil {
			return reported(err)
		}
		return nil
	}
	return s.converse(ctx)
}

// reported keeps an error that ended the program; any other the turn has shown.
func reported(err error) error {
	if isQuit(err) || errors.Is(err, errInterrupted) {
		return err
	}
	return errReported
}
