package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mcpchain/mcpchain/evals/check"
	"github.com/mcpchain/mcpchain/evals/llama"
)

// toolLists has the lists of tools of servers.
const toolLists = "evals/interop/testdata/tools"

const aboutLlama = "checks agents, sampling and streams at a llama-server or an Ollama, by a tiny model that it makes itself"

// llamaCommand makes the model, or checks a server that serves it.
func llamaCommand(ctx context.Context, args []string, out, notes io.Writer) error {
	flags := newFlags("llama", "[flags]", "Llama "+aboutLlama+".\ndocs/evals.md says how to get such a server.",
		[]string{"0 if nothing failed", "1 if a check failed, or there is no such server", "2 if the command line is wrong"}, notes)
	var o llama.Options
	flags.StringVar(&o.URL, "url", "", "check the server at this `URL`, with or without /v1")
	flags.StringVar(&o.Model, "name", "", "`name` of the model there; by default the first that the server lists")
	made := flags.String("make", "", "write the model to this `file`, and beside it what ollama create wants")
	wanted := flags.String("run", "", "only the checks whose names match this `pattern`")
	junit := flags.String("junit", "", "write the results to this `file` as JUnit XML")
	lines := flags.Bool("json", false, "print the results as JSON, one a line")
	if err := parse(flags, args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*wanted)
	if err == nil && (flags.NArg() > 0 || (o.URL == "") == (*made == "")) {
		err = errors.New("llama: say either -make FILE or -url URL")
	}
	if err != nil {
		return &usageError{err}
	}
	if *made != "" {
		return makeModel(*made, out)
	}
	if _, err := os.Stat(toolLists); err != nil {
		return &usageError{errors.New("run it in the root of the repository")}
	}
	o.Lists, o.Wanted = os.DirFS(toolLists), pattern.MatchString
	at, all := commit(ctx), []*check.Check(nil)
	err = llama.Run(ctx, &o, func(about string) { fmt.Fprintln(notes, about) }, func(c *check.Check) {
		c.Commit, all = at, append(all, c)
		if *lines {
			err = cmp.Or(err, json.NewEncoder(out).Encode(c))
			return
		}
		fmt.Fprintf(notes, "%-4s %-28s %5.1fs  %s\n", c.Outcome, c.Name, c.Seconds, c.Text)
	})
	return errors.Join(err, writeJUnit(*junit, all), verdict("llama", all, out, *lines))
}

// makeModel writes the model, and says how servers serve it.
func makeModel(file string, out io.Writer) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	modelfile, err := llama.Model(path)
	if err == nil {
		fmt.Fprintf(out, "llama-server -m %s --host 127.0.0.1 --port 8080\nollama create tiny -f %s\n", path, modelfile)
	}
	return err
}
