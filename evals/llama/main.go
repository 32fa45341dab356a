// Llama checks how this module uses a real model server, by a model of two megabytes that it makes itself:
//
//	go run ./evals/llama -make tiny.gguf
//	go run ./evals/llama -url http://127.0.0.1:8080
//
// A llama-server or an Ollama serves the model and is asked what an agent asks a model: for text, for calls, for
// answers of a form, by streams and at the end of its window. What a server does not offer is found out first,
// without code of this module, so that a fault here does not count as a lack there. docs/evals.md says how to get a
// server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
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
	if err := llama(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "llama:", err)
		os.Exit(1)
	}
}

// llama makes the model, or checks a server that serves it.
func llama(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("llama", flag.ContinueOnError)
	url := flags.String("url", "", "check the server at this `URL`, with or without /v1")
	name := flags.String("name", "", "`name` of the model there; by default the first that the server lists")
	file := flags.String("make", "", "write the model to this `file`, and beside it what ollama create wants")
	pattern := flags.String("run", "", "only the checks whose names match this `pattern`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*pattern)
	switch {
	case err != nil:
		return err
	case flags.NArg() > 0 || (*url == "") == (*file == ""):
		return errors.New("want either -make FILE or -url URL")
	case *file != "":
		return makeModel(*file, out)
	}
	if _, err := os.Stat(toolLists); err != nil {
		return errors.New("run it in the root of the repository")
	}
	s, err := find(ctx, http.DefaultTransport.(*http.Transport), *url, *name)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, s)
	count := map[outcome]int{}
	for _, c := range append(checks(), toolChecks(os.DirFS(toolLists))...) {
		if !wanted.MatchString(c.name) {
			continue
		}
		r := s.run(ctx, c)
		count[r.outcome]++
		fmt.Fprintf(out, "%-4s %-28s %5.1fs  %s\n", r.outcome, c.name, r.took.Seconds(), r.text)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", count[passed], count[failed], count[skipped])
	if count[failed] > 0 || count[passed] == 0 {
		return fmt.Errorf("%d checks passed, and %d failed", count[passed], count[failed])
	}
	return ctx.Err()
}

// makeModel writes the model, and beside it, with the suffix .modelfile, what ollama create wants. It prints how servers
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
