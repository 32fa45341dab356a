// Llama makes a model of two megabytes, by which the tests of this folder check how this module
// uses a real model server:
//
//	go run ./evals/llama tiny.gguf
//	go test ./evals/llama -url http://127.0.0.1:8080
//
// A llama-server or an Ollama serves the model and is asked what an agent asks a model: for text, for calls, for
// answers of a form, by streams and at the end of its window. What a server does not offer is found out first,
// without code of this module, so that a fault here does not count as a lack there. docs/evals.md says how to get a
// server. Without -url, servers that play the model test the checks themselves.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/evals/llama/tiny"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "llama: want the name of the file for the model")
		os.Exit(2)
	}
	if err := makeModel(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "llama:", err)
		os.Exit(1)
	}
}

// makeModel writes the model, and beside it, with the suffix .modelfile, what ollama create wants.
// It prints how servers serve the model.
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
