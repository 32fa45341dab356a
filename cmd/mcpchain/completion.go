package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

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

const aboutCompletion = `Completion prints a script for a shell. To have it always:

	echo 'source <(mcpchain completion bash)' >> ~/.bashrc
	echo 'source <(mcpchain completion zsh)' >> ~/.zshrc
	mcpchain completion fish > ~/.config/fish/completions/mcpchain.fish
`

// completion prints the script of a shell.
func completion(args []string, out, errs io.Writer) int {
	if len(args) == 1 && strings.TrimLeft(args[0], "-") == "help" {
		fmt.Fprint(out, aboutCompletion)
		return 0
	}
	if len(args) != 1 || scripts[args[0]] == "" {
		fmt.Fprintln(errs, "mcpchain: completion is for bash, zsh or fish: name one of them")
		return 2
	}
	fmt.Fprint(out, scripts[args[0]])
	return 0
}

var flagLine = regexp.MustCompile(`(?m)^  (-[a-z-]+)`)

// complete prints what may stand at the place of the last word. The flags of a command are those of its help.
func complete(words []string, out io.Writer) {
	if len(words) == 0 {
		words = []string{""}
	}
	last, found := words[len(words)-1], []string(nil)
	switch {
	case strings.HasPrefix(last, "-"):
		self, err := os.Executable()
		if err != nil {
			return
		}
		before := words[:len(words)-1]
		if len(before) > 0 && !strings.HasPrefix(before[0], "-") {
			before = before[:1]
		} else {
			before = []string{"chat"}
		}
		if before[0] == "serve" && slices.Contains(words, "-api") {
			before = append(slices.Clone(before), "-api")
		}
		text, _ := exec.Command(self, append(slices.Clone(before), "-help")...).CombinedOutput()
		for _, m := range flagLine.FindAllStringSubmatch(string(text), -1) {
			found = append(found, m[1])
		}
	case len(words) == 1:
		found = names()
	case len(words) == 2 && words[0] == "help":
		found = names()
	case len(words) == 2 && words[0] == "completion":
		found = []string{"bash", "fish", "zsh"}
	case len(words) == 2 && words[0] == "runs":
		found = service.Operations()
	case len(words) == 2 && words[0] == "demo":
		found = []string{"model"}
	}
	for _, f := range found {
		if strings.HasPrefix(f, last) {
			fmt.Fprintln(out, f)
		}
	}
}
