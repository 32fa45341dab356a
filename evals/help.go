package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

// about says what a command is for.
type about struct{ name, sentence string }

// commands are all commands, in the order of the list.
func commands() []about {
	all := []about{{"agent", "runs tasks by an agent, of the suites here or of your own, and scores what came of them"}}
	for i := range childCommands {
		all = append(all, about{childCommands[i].kind, childCommands[i].about})
	}
	return append(all, about{"llama", aboutLlama}, about{"report", "writes one page of HTML from the results that the other commands have kept"})
}

// usage lists the commands.
func usage(w io.Writer) {
	fmt.Fprint(w, "Evals shows what this repository does, and what an agent does with your servers.\n\n"+
		"usage: go run ./evals COMMAND [flags], in the root of the repository\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-12s %s\n", c.name, c.sentence)
	}
	fmt.Fprint(w, "\ngo run ./evals COMMAND -help has the flags of a command. Begin with\n\n"+
		"  go run ./evals agent -list     the suites and their tasks\n"+
		"  go run ./evals agent           all of them, offline, without a model\n\n"+
		"docs/evals.md says how to write a suite for your own servers, and what the numbers mean.\n")
}

func unknownCommand(name string, names []string) error {
	hint := ""
	if near := spelling.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return &usageError{fmt.Errorf("there is no command %q; %suse one of %s", name, hint, strings.Join(names, ", "))}
}

// newFlags are the flags of a command, whose -help has these lines above the flags, and these statuses
// below them.
func newFlags(name, line, purpose string, statuses []string, notes io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("evals "+name, flag.ContinueOnError)
	flags.SetOutput(notes)
	flags.Usage = func() {
		fmt.Fprintf(notes, "usage: go run ./evals %s %s\n\n%s\n\n", name, line, purpose)
		flags.PrintDefaults()
		fmt.Fprintf(notes, "\nExit status: %s.\n", strings.Join(statuses, "; "))
	}
	return flags
}

// parse parses flags. A mistake is one of the command line.
func parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err != nil && err != flag.ErrHelp {
		return &usageError{err}
	}
	return err
}

// list writes the suites and their tasks that are chosen, with what each task asks.
func (s *agentSettings) list(all []*suite.Suite, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, one := range all {
		fmt.Fprintf(w, "%s: %s\n", one.Name, one.About)
		for _, t := range one.Tasks {
			if s.Tasks(one.Name, t.ID) {
				fmt.Fprintf(w, "  %s/%s\t%s\n", one.Name, t.ID, short(t.Prompt))
			}
		}
	}
	return w.Flush()
}

// maxShown bounds what is shown of a prompt, in characters.
const maxShown = 80

// short is the beginning of a text, on one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown-1]) + "…"
	}
	return text
}
