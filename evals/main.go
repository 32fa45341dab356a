// Evals shows what this repository does, in one command:
//
//	go run ./evals conformance -results conformance.jsonl
//	go run ./evals interop -results interop.jsonl
//	go run ./evals bench -results bench.jsonl -- -quick
//	go run ./evals loop -results loop.jsonl -- -quick
//	go run ./evals chaos -results chaos.jsonl -- -runs 10 -kills 50
//	go run ./evals agent -model scripted -results agent.jsonl
//	go run ./evals llama -url http://127.0.0.1:8080
//	go run ./evals report -o evals.html *.jsonl
//
// Without a command it lists them, and each has -help. A command that ends with a status other than 0 says
// why: 1 if something failed, 2 if the command line is wrong. It is run in the root of the repository; what
// stands after -- is for the program behind it. With -results, agent goes on with the trials
// that have no line of this program yet, and conformance and interop skip the tests that have passed at
// this commit; the others begin anew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/mcpchain/mcpchain/evals/agent/trial"
)

// The exit statuses.
const (
	statusFailed = 1
	statusUsage  = 2
)

func main() {
	trial.Main()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if status := statusOf(err); status != 0 {
		fmt.Fprintln(os.Stderr, "evals:", err)
		os.Exit(status)
	}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

// statusOf is the exit status.
func statusOf(err error) int {
	_, usage := errors.AsType[*usageError](err)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case usage:
		return statusUsage
	}
	return statusFailed
}

// command is the program. Results go to out, progress and notes to notes.
func command(ctx context.Context, args []string, out, notes io.Writer) error {
	if len(args) == 0 {
		usage(notes)
		return &usageError{errors.New("name a command")}
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(args) == 0 {
			usage(out)
			return nil
		}
		return command(ctx, []string{args[0], "-help"}, out, out)
	case "agent":
		return agentCommand(ctx, args, out, notes)
	case "llama":
		return llamaCommand(ctx, args, out, notes)
	case "report":
		return reportCommand(args, notes)
	}
	var names []string
	for i := range childCommands {
		if c := &childCommands[i]; c.kind == name {
			return c.run(ctx, args, out, notes)
		}
	}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return unknownCommand(name, names)
}
