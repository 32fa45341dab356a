// Evals shows what this repository does, in one command:
//
//	go run ./evals conformance -results conformance.jsonl
//	go run ./evals interop -results interop.jsonl
//	go run ./evals bench -results bench.jsonl -- -quick
//	go run ./evals loop -results loop.jsonl -- -quick
//	go run ./evals chaos -results chaos.jsonl -- -runs 10 -kills 50
//	go run ./evals agent -model scripted -results agent.jsonl
//	go run ./evals report -o evals.html *.jsonl
//
// A command that ends with a status other than 0 says why. It is run in the root of the repository;
// what stands after -- is for the program behind it. With -results, agent goes on with the trials
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
	"strings"

	"github.com/mcpchain/mcpchain/evals/agent/trial"
)

func main() {
	trial.Main()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "evals:", err)
	os.Exit(1)
}

// command is the program. Results go to out, progress and notes to notes.
func command(ctx context.Context, args []string, out, notes io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "agent":
		return agentCommand(ctx, args, out, notes)
	case "report":
		return reportCommand(args, notes)
	}
	var names []string
	for i := range childCommands {
		if c := &childCommands[i]; c.kind == name {
			return c.run(ctx, args, out, notes)
		}
		names = append(names, childCommands[i].kind)
	}
	return fmt.Errorf("there is no command %q; use agent, %s or report", name, strings.Join(names, ", "))
}
