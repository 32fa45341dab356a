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
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// command is a command of the program.
type command struct {
	name, about string
	main        func(args []string) int // returns the exit status
}

// commands lists the commands in the order of the help, which has an empty line behind each group.
func commands() [][]command {
	return [][]command{{
		{"chat", "talk to a model that uses your servers, on a terminal or in a script", chat.Main},
		{"inspect", "tell which servers of an mcp.json work, and call what they offer", inspect.Main},
	}, {
		{"serve", "a page for several people; with -api an HTTP service for many users", serve},
		{"runs", "list, show, answer, cancel and check the runs of a service", service.Runs},
	}, {
		{"demo", "be the demo server, on standard input and output; demo model: the demo model", demo},
		{"completion", "print the completion of this command line for bash, zsh or fish", nil},
		{"version", "print the version", nil},
		{"help", "print this, or the help of a command", nil},
	}}
}

// names lists the names of the commands.
func names() (names []string) {
	for _, c := range slices.Concat(commands()...) {
		names = append(names, c.name)
	}
	return names
}

// run runs a command, chat without the name of one.
func run(args []string, out, errs io.Writer) int {
	name, rest := "chat", args
	if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || isAlone(args[0])) {
		name, rest = strings.TrimLeft(args[0], "-"), args[1:]
	}
	switch name {
	case "h", "help":
		return help(rest, out, errs)
	case "version":
		fmt.Fprintln(out, version())
		return 0
	case "completion":
		return completion(rest, out, errs)
	case "complete": // for the scripts of completion
		complete(rest, out)
		return 0
	}
	for _, c := range slices.Concat(commands()...) {
		if c.name == name {
			return c.main(rest)
		}
	}
	return unknown(name, errs)
}

// isAlone reports whether a flag is one of the whole program.
func isAlone(flag string) bool {
	return slices.Contains([]string{"h", "help", "version"}, strings.TrimLeft(flag, "-"))
}

// unknown says that there is no such command.
func unknown(name string, errs io.Writer) int {
	near := ""
	if best := spelling.Nearest(name, names()); best != "" {
		near = fmt.Sprintf(". Is it %q?", best)
	}
	fmt.Fprintf(errs, "mcpchain: there is no command %q; mcpchain help lists them%s\n", hosttext.Line(name, 80), near)
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

// demoHelp is the help of demo.
const demoHelp = `Demo stands in for a server or a model that a program does not have yet.

  mcpchain demo        be the demo server, on standard input and output
  mcpchain demo model  serve the demo model on this machine, and print the variables that name it
`

// demo is one of the demos for other programs.
func demo(args []string) int {
	switch {
	case len(args) > 0 && args[0] == "model":
		return chat.Main(append([]string{"-demo-model"}, args[1:]...))
	case len(args) > 0 && args[0] != "-version" && isAlone(args[0]):
		fmt.Print(demoHelp)
		return 0
	}
	return chat.Main(append([]string{"-demo-server"}, args...))
}
