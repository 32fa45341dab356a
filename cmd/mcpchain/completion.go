package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/service"
)

// scripts have the shells ask the program for what may be typed. Without an answer they offer files.
var scripts = map[string]string{
	"bash": `_mcpchain() {
	local IFS=$'\n'
	COMPREPLY=($(mcpchain complete "${COMP_WORDS[@]:1:COMP_CWORD}"))
}
complete -o default -F _mcpchain mcpchain
`,
	"zsh": `#compdef mcpchain
_mcpchain() {
	local -a found
	found=(${(f)"$(mcpchain complete "${(@)words[2,CURRENT]}")"})
	if (( $#found )); then compadd -a found; else _files; fi
}
compdef _mcpchain mcpchain
`,
	"fish": `complete -c mcpchain -a '(mcpchain complete (commandline -opc)[2..] (commandline -ct))'
`,
}

const aboutCompletion = `
Prints a script for a shell that completes commands and flags of mcpchain.`

const completionExamples = `
echo 'source <(mcpchain completion bash)' >> ~/.bashrc
echo 'source <(mcpchain completion zsh)' >> ~/.zshrc
mcpchain completion fish > ~/.config/fish/completions/mcpchain.fish`

// completion prints the script of a shell.
func completion() *cli.Command {
	c := cli.New("completion", "print a completion script for bash, zsh or fish")
	c.Synopsis, c.About, c.Words = []string{"completion bash|zsh|fish"}, aboutCompletion, slices.Sorted(maps.Keys(scripts))
	c.Sections = []cli.Section{cli.Statuses(nil), {Title: "To install it", Text: completionExamples}}
	c.Main = func(args []string) int {
		words, err := c.Arguments(args, os.Stdout)
		if err == nil && (len(words) != 1 || scripts[words[0]] == "") {
			err = c.Wrong("completion is for bash, zsh or fish: name one of them")
		}
		if err == nil {
			_, err = fmt.Print(scripts[words[0]])
		}
		return cli.Status(err, os.Stderr)
	}
	return c
}

// complete prints what may stand at the place of the last word, which may be unfinished.
func complete(words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	command := find("chat")
	switch {
	case len(words) == 1 && !strings.HasPrefix(words[0], "-"), len(words) == 2 && words[0] == "help":
		command = &cli.Command{Words: names(), FlagSet: new(flag.FlagSet)}
		words = words[len(words)-1:]
	case strings.HasPrefix(words[0], "-"):
	case words[0] == "serve" && wantsService(words[1:]):
		command, words = service.Command(), words[1:]
	default:
		if command, words = find(words[0]), words[1:]; command == nil {
			return nil
		}
	}
	for _, found := range command.Complete(words) {
		if _, err := fmt.Println(found); err != nil {
			return err
		}
	}
	return nil
}
