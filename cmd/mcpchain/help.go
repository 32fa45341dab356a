package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/service"
)

const about = `mcpchain connects models, MCP servers and people.

Usage:
  mcpchain [chat] [flags]
  mcpchain COMMAND [flags]
  mcpchain help COMMAND

Commands:
`

const further = `
Flags have the same name and meaning in all commands: -model and -base-url for the model, -config for
the servers, -store for stored data. The help of a command says what it uses without them. Without a
model, a demo model with fixed rules answers.

Environment:
  OPENAI_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY
      model, URL and API key of an OpenAI-compatible endpoint
  ANTHROPIC_MODEL, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY
      the same for Claude's API, if OPENAI_MODEL is not set
  NO_COLOR
      if set, the terminal output has no colours

Exit status: 0 for success, 1 for a failure, 2 if the command line or a file is invalid; see the help of each command.
The guides: https://github.com/mcpchain/mcpchain/blob/main/docs/README.md
`

// help prints the help of the program, or of a command.
func help(args []string) error {
	text := programHelp()
	if len(args) > 0 && !slices.Contains([]string{"help", "-help", "--help", "-h"}, args[0]) {
		c := find(args[0])
		switch {
		case c == nil:
			return unknownCommand(args[0])
		case c.Name == "serve" && wantsService(args[1:]):
			c = service.Command()
		}
		text = c.Help()
	}
	_, err := fmt.Print(text)
	return err
}

// programHelp returns the help of the program.
func programHelp() string {
	text := about
	for i, group := range commands() {
		if i > 0 {
			text += "\n"
		}
		for _, c := range group {
			text += fmt.Sprintf("  %-12s%s\n", c.Name, c.Summary)
		}
	}
	return text + "  help        print this help, or the help of a command\n" + further
}

// versionText is the version of the program, as far as the build knows it.
func versionText() string {
	text := "mcpchain "
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return text + "of an unknown version"
	}
	text += cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
