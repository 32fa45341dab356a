package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
)

const about = `Mcpchain lets a model use MCP servers, and lets the servers ask back.

	mcpchain [chat] [flags]
	mcpchain COMMAND [flags]

Commands:
`

const further = `
mcpchain COMMAND -help lists the flags of a command. Flags of a model are the same for all: -base-url, -model, -model-api, -models and
others. Without a model a demo model with fixed rules answers, and without -config demo servers serve it.

Environment:
  OPENAI_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY
        model, URL and key of an OpenAI-compatible endpoint
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
        the same for -model-api messages
  NO_COLOR
        if it is set, a terminal has no colours

Files of the folder mcpchain in your configuration (~/.config on Linux):
  mcp.json, models.json
        servers and models of yours
  tokens, chatbot, web
        what sign-ins brought; conversations, and what you have allowed

Exit status: 0 without a failure, 1 after one, 2 if the command line or a file is wrong; a command's help has more.
Guides: https://github.com/mcpchain/mcpchain/blob/main/docs/README.md
`

// help prints the help of the program, or of a command.
func help(args []string, out, errs io.Writer) int {
	if len(args) > 0 && args[0] != "help" && slices.Contains(names(), args[0]) {
		return run(append(slices.Clone(args), "-help"), out, errs)
	}
	if len(args) > 0 && args[0] != "help" {
		return unknown(args[0], errs)
	}
	fmt.Fprint(out, about)
	for i, group := range commands() {
		if i > 0 {
			fmt.Fprintln(out)
		}
		for _, c := range group {
			fmt.Fprintf(out, "  %-12s%s\n", c.name, c.about)
		}
	}
	fmt.Fprint(out, further)
	return 0
}

// version is the version of the program, as far as the build knows it.
func version() string {
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
