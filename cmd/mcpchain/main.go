// Mcpchain connects models, MCP servers and people: in a terminal, on a page, and behind an API. It also
// checks the servers of an mcp.json.
//
//	go run ./cmd/mcpchain
//
// starts a conversation with a demo model and a demo server: it needs no key and no configuration.
// "mcpchain help" lists the commands.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demo"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/eval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/inspect"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/service"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// commands lists the commands in the order of the help, which has an empty line between groups.
func commands() [][]*cli.Command {
	version := cli.New("version", "print the version")
	version.Synopsis, version.About = []string{"version"}, "Prints the version, the commit, and the version of Go that built it."
	version.Sections = []cli.Section{cli.Statuses(nil)}
	version.Main = func(args []string) int {
		err := version.NoWords(args, os.Stdout)
		if err == nil {
			_, err = fmt.Println(versionText())
		}
		return cli.Status(err, os.Stderr)
	}
	return [][]*cli.Command{
		{chat.Command(), inspect.Command(), eval.Command()},
		{serve(), service.RunsCommand()},
		{demo.Command(), completion(), version},
	}
}

// find returns the command with a name, nil if there is none.
func find(name string) *cli.Command {
	for _, c := range slices.Concat(commands()...) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// names lists the names of the commands, and "help".
func names() (names []string) {
	for _, c := range slices.Concat(commands()...) {
		names = append(names, c.Name)
	}
	return append(names, "help")
}

// run runs the command that args begin with, or chat, and returns the exit status.
func run(args []string) int {
	name, rest := "chat", args
	// -h, -help and -version are commands, written as flags.
	if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || isProgramFlag(args[0])) {
		name, rest = strings.TrimLeft(args[0], "-"), args[1:]
	}
	var err error
	switch c := find(name); {
	case name == "h", name == "help":
		err = help(rest)
	case name == "complete": // for the scripts of completion
		err = complete(rest)
	case c != nil:
		return c.Main(rest)
	default:
		err = unknownCommand(name)
	}
	return cli.Status(err, os.Stderr)
}

// isProgramFlag reports whether a flag stands for a command of the program.
func isProgramFlag(flag string) bool {
	return slices.Contains([]string{"h", "help", "version"}, strings.TrimLeft(flag, "-"))
}

// unknownCommand returns the error that there is no such command.
func unknownCommand(name string) error {
	if file, err := os.Stat(name); err == nil && file.Mode().IsRegular() {
		return &cli.Error{Reason: fmt.Sprintf("there is no command %q: to use a file of servers, mcpchain chat -config FILE, or mcpchain inspect FILE",
			hosttext.Line(name, 80))}
	}
	return &cli.Error{Reason: fmt.Sprintf("there is no command %q%s", hosttext.Line(name, 80), spelling.Hint(name, names()))}
}

// serve serves the page, or the service if the flags select it.
func serve() *cli.Command {
	c := web.Command()
	page := c.Main
	c.Main = func(args []string) int {
		if wantsService(args) {
			return service.Main(args)
		}
		return page(args)
	}
	return c
}

// wantsService reports whether the flags of serve select the service: the last -api does, or
// -temporal, a flag of the service alone.
func wantsService(args []string) (selected bool) {
	for _, arg := range args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-"):
		case name == "temporal":
			return true
		case name == "api":
			on, _ := strconv.ParseBool(value) // the page reports an error
			selected = on || !hasValue
		}
	}
	return selected
}
