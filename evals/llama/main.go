// Llama checks how this module uses a real model server, by a model of two megabytes that it makes itself:
//
//	go run ./evals/llama -make tiny.gguf
//	go run ./evals/llama -url http://127.0.0.1:8080
//
// A llama-server or an Ollama serves the model, and is asked whatever an agent asks a model: for text, for calls,
// for answers of a form, by streams and at the end of its window. What a server does
// not offer is read from the server first, without code of this module, so that a fault here does
// not count as a lack there. docs/evals.md says how to get a server.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"github.com/mcpchain/mcpchain/evals/llama/tiny"
)

// toolLists has the lists of tools of servers.
const toolLists = "evals/interop/testdata/tools"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := llama(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "llama:", err)
		os.Exit(1)
	}
}

// llama makes the model, or checks a server that serves it.
func llama(ctx context.Context, args []string, out, notes io.Writer) error {
	flags := flag.NewFlagSet("llama", flag.ContinueOnError)
	flags.SetOutput(notes)
	var o Options
	flags.StringVar(&o.URL, "url", "", "check the server at this `URL`, with or without /v1")
	flags.StringVar(&o.Model, "name", "", "`name` of the model there; by default the first that the server lists")
	made := flags.String("make", "", "write the model to this `file`, and beside it what ollama create wants")
	wanted := flags.String("run", "", "only the checks whose names match this `pattern`")
	lines := flags.Bool("json", false, "print the results as JSON, one a line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*wanted)
	switch {
	case err != nil:
		return err
	case flags.NArg() > 0 || (o.URL == "") == (*made == ""):
		return errors.New("say either -make FILE or -url URL")
	case *made != "":
		return makeModel(*made, out)
	}
	if _, err := os.Stat(toolLists); err != nil {
		return errors.New("run it in the root of the repository")
	}
	o.Lists, o.Wanted = os.DirFS(toolLists), pattern.MatchString
	count := map[outcome]int{}
	err = Run(ctx, &o, func(about string) { fmt.Fprintln(notes, about) }, func(r *result) {
		count[r.Outcome]++
		if *lines {
			err = cmp.Or(err, json.NewEncoder(out).Encode(r))
			return
		}
		fmt.Fprintf(notes, "%-4s %-28s %5.1fs  %s\n", r.Outcome, r.Name, r.Seconds, r.Text)
	})
	if !*lines {
		fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", count[passed], count[failed], count[skipped])
	}
	if count[failed] > 0 || count[passed] == 0 {
		err = errors.Join(err, fmt.Errorf("%d checks passed, and %d failed", count[passed], count[failed]))
	}
	return err
}

// makeModel writes the model, and beside it, with the suffix .modelfile, what ollama create wants. It says how servers
// serve the model.
func makeModel(file string, out io.Writer) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	modelfile := path + ".modelfile"
	if err := os.WriteFile(path, tiny.Model(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(modelfile, []byte(tiny.Modelfile(path)), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "llama-server -m %s --host 127.0.0.1 --port 8080\nollama create tiny -f %s\n", path, modelfile)
	return nil
}
