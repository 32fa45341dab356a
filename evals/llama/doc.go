// Package llama checks how this module uses a real model server, by a model that it makes itself.
//
// [Model] writes the model. A llama-server or an Ollama serves it, and [Run] asks that server whatever an agent asks
// a model: for text, for calls, for answers of a form, by streams and at the end of its window. What a server does
// not offer is read from the server first, without code of this module, so that a fault here does
// not count as a lack there.
//
// The command is go run ./evals llama; docs/evals.md says how to get a server.
package llama

import (
	"os"

	"github.com/mcpchain/mcpchain/evals/llama/tiny"
)

// Model writes the model into a file, and beside it, with the suffix .modelfile, what ollama create
// wants. It returns the name of the second file.
func Model(file string) (modelfile string, err error) {
	modelfile = file + ".modelfile"
	if err := os.WriteFile(file, tiny.Model(), 0o644); err != nil {
		return "", err
	}
	return modelfile, os.WriteFile(modelfile, []byte(tiny.Modelfile(file)), 0o644)
}
