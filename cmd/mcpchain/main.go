// Mcpchain lets a model use MCP servers: in a terminal, on a page, and behind an API. It looks
// at the servers of an mcp.json, too.
//
//	go run ./cmd/mcpchain
//
// starts a conversation with a demo model and a demo server: it needs no key and no configuration.
// "mcpchain help" lists the commands.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/inspect"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/service"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command is a command of the program.
type command struct {
	name  string
	about string
	main  func(args []string) int // returns the exit status
}

// commands lists the commands in the order of the help.
func commands() []command {
	return []command{
		{"chat", "talk to a model that uses your servers, on a terminal or in a script", chat.Main},
		{"inspect", "tell which servers of an mcp.json can be used, why the others cannot, and what they offer", inspect.Main},
		{"serve", "serve a page for several people; with -api an HTTP service for many users", serve},
		{"runs", "list, show, answer, cancel and check the runs of a service", service.Runs},
	}
}

// run runs a command, chat without a name of one.
func run(args []string, out, errs io.Writer) int {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return chat.Main(args)
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	switch {
	case i >= 0:
		return all[i].main(args[1:])
	case args[0] == "help":
		for _, c := range all {
			fmt.Fprintf(out, "  %-10s %s\n", c.name, c.about)
		}
		return 0
	}
	fmt.Fprintf(errs, "mcpchain: there is no command %q; mcpchain help lists them\n", args[0])
	return 2
}

// serve serves the page, or the service if -api or -temporal is among the flags.
func serve(args []string) int {
	api := func(arg string) bool { return arg == "-api" || arg == "--api" }
	temporal := func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && name == "temporal"
	}
	if slices.ContainsFunc(args, api) || slices.ContainsFunc(args, temporal) {
		return service.Main(slices.DeleteFunc(slices.Clone(args), api))
	}
	return web.Main(args)
}
