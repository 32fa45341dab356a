package readers_test

import (
	"fmt"
	"log"

	"github.com/mcpchain/mcpchain/evals/agent/readers"
)

// The cases of a promptfoo file become a suite, and those that a suite cannot check are named.
func ExamplePromptfoo() {
	s, left, err := readers.Promptfoo([]byte(`
description: translations
prompts: ["Translate {{word}} to French."]
tests:
- {description: dog, vars: {word: dog}, assert: [{type: equals, value: chien}]}
- {description: cow, vars: {word: cow}, assert: [{type: llm-rubric, value: is polite}]}
`), nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range s.Tasks {
		fmt.Println(t.ID, "-", t.Prompt)
	}
	for _, n := range left {
		fmt.Println("left out:", n.Task, "-", n.Why)
	}
	// Output:
	// dog - Translate dog to French.
	// left out: cow - the assertion llm-rubric is of the program
}
